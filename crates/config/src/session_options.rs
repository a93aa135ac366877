//! A session's options, as a layer of settings.

use std::io;
use std::path::{Path, PathBuf};

use policy::RuleError;
use protocol::{SessionOptions, SettingsFileScope};

use crate::file::{BudgetSettings, LimitSettings, ListSettings, PermissionSettings, SettingsFile, WorkspaceSettings};
use crate::permissions::{PermissionModeSetting, RuleLine};

/// Why the options of a session cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OptionError {
    /// A rule is not valid.
    #[error(transparent)]
    Rule(#[from] RuleError),
    /// The path of a folder cannot be made absolute.
    #[error("cannot work in {folder}: {source}")]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A number is out of range.
    #[error("{0}")]
    Range(String),
}

impl SettingsFile {
    /// The settings among a session's options.
    pub fn from_options(options: &SessionOptions) -> Result<SettingsFile, OptionError> {
        let rules = |texts: &[String]| texts.iter().map(|text| RuleLine::parse(text)).collect::<Result<Vec<_>, _>>();
        let file = SettingsFile {
            model: options.model.clone(),
            effort: options.effort,
            max_turns: options.max_turns.map(u32::from),
            lists: ListSettings { chosen: options.list.clone() },
            budget: BudgetSettings { usd: options.max_budget_usd, tokens: options.max_tokens, day_usd: None },
            limits: LimitSettings {
                live: options.max_agents,
                depth: options.max_depth,
                total: options.max_total_agents,
                continues: options.max_continues,
                ..LimitSettings::default()
            },
            permissions: PermissionSettings {
                mode: options.permission.map(PermissionModeSetting),
                allow: rules(&options.allow)?,
                ask: rules(&options.ask)?,
                deny: rules(&options.deny)?,
            },
            workspace: WorkspaceSettings {
                add_dirs: options.add_dirs.iter().map(|folder| absolute(folder)).collect::<Result<_, _>>()?,
            },
            ..SettingsFile::default()
        };
        file.check().map_err(OptionError::Range)?;
        Ok(file)
    }
}

/// The settings files to read.
pub(crate) fn scopes(options: &SessionOptions) -> &[SettingsFileScope] {
    options.setting_sources.as_deref().unwrap_or(&SettingsFileScope::ALL)
}

fn absolute(folder: &Path) -> Result<PathBuf, OptionError> {
    std::path::absolute(folder).map_err(|source| OptionError::Folder { folder: folder.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use protocol::Usd;

    use super::*;

    #[test]
    fn options_that_no_flag_could_have_are_refused() {
        let refused = |options| SettingsFile::from_options(&options).unwrap_err().to_string();
        let free = SessionOptions { max_budget_usd: Some(Usd(0)), ..SessionOptions::default() };
        assert_eq!(refused(free), "budget.usd is 0; leave it out for no limit");
        let idle = SessionOptions { max_agents: Some(0), ..SessionOptions::default() };
        assert_eq!(refused(idle), "limits.live is 0; it must be between 1 and 4096");
        let rule = SessionOptions { allow: vec!["shell(".into()], ..SessionOptions::default() };
        assert!(refused(rule).contains("shell("));
    }
}
