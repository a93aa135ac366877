//! A rule that holds from now on is written to a settings file.

use std::path::{Path, PathBuf};

use config::RuleLine;
use protocol::RuleEffect;

use crate::args::RuleScope;
use crate::error::CliError;
use crate::settings::rule;
use crate::setup::Setup;

/// Writes a rule that allows to the settings of the user, for the project of this folder or for all; gives the file.
pub(crate) fn save_allow_rule(setup: &Setup, cwd: &Path, rule: &str, place: RuleScope) -> Result<PathBuf, CliError> {
    let line = RuleLine::parse(rule).map_err(CliError::usage)?;
    rule::add(setup, cwd, place, RuleEffect::Allow, &line).map(|(path, _added)| path)
}
