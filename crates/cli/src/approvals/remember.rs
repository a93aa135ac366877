//! A rule that holds from now on is written to a settings file.

use std::path::{Path, PathBuf};

use config::RuleLine;
use protocol::RuleEffect;

use crate::args::Place;
use crate::failure::Failure;
use crate::settings::rule;
use crate::setup::Setup;

/// Writes a rule that allows to the settings of the user, for the project of this folder or for all; gives the file.
pub(crate) fn remember(setup: &Setup, cwd: &Path, rule: &str, place: Place) -> Result<PathBuf, Failure> {
    let line = RuleLine::parse(rule).map_err(Failure::usage)?;
    rule::add(setup, cwd, place, RuleEffect::Allow, &line).map(|(path, _added)| path)
}
