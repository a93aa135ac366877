//! Writes a permanent rule to a settings file.

use std::path::{Path, PathBuf};

use config::RuleLine;
use protocol::RuleEffect;

use crate::args::RuleScope;
use crate::error::CliError;
use crate::settings::rule;
use crate::setup::Setup;

/// Adds an allow rule to the user settings, for the project of this folder or for all projects; returns the file.
pub(crate) fn save_allow_rule(setup: &Setup, cwd: &Path, rule: &str, scope: RuleScope) -> Result<PathBuf, CliError> {
    let line = RuleLine::parse(rule).map_err(CliError::usage)?;
    rule::add(setup, cwd, scope, RuleEffect::Allow, &line).map(|(path, _added)| path)
}
