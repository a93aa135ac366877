//! Writes a permanent rule to a settings file.

use std::path::{Path, PathBuf};

use protocol::RuleEffect;
use protocol::api::{AddRuleParams, AddRuleResult};

use crate::args::RuleScope;
use crate::error::CliError;
use crate::setup::Setup;

/// Adds an allow rule to the user settings, for the project of this folder or for all projects; returns the file.
pub(crate) fn save_allow_rule(setup: &Setup, cwd: &Path, rule: &str, scope: RuleScope) -> Result<PathBuf, CliError> {
    let (cwd, rule) = (Some(cwd.display().to_string()), rule.to_owned());
    let params = AddRuleParams { cwd, scope: scope.into(), effect: RuleEffect::Allow, rule };
    let AddRuleResult { path, .. } = setup.sources().add_rule(params)?;
    Ok(path.into())
}
