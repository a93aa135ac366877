//! What can be said about permissions: one more layer of settings.

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use config::{RuleLine, SettingsFileScope};
use protocol::PermissionMode;

/// Options that are settings of what tool calls may do.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct PermissionArgs {
    /// Allows calls like this, such as 'shell(git status)' or 'edit(src/**)' (may be repeated)
    #[arg(long, value_name = "RULE", value_parser = RuleLine::parse)]
    pub(crate) allow: Vec<RuleLine>,
    /// Asks before calls like this, whatever else allows them (may be repeated)
    #[arg(long, value_name = "RULE", value_parser = RuleLine::parse)]
    pub(crate) ask: Vec<RuleLine>,
    /// Denies calls like this, whatever else allows them (may be repeated)
    #[arg(long, value_name = "RULE", value_parser = RuleLine::parse)]
    pub(crate) deny: Vec<RuleLine>,
    /// Allows every call that no rule asks about or denies
    #[arg(long, visible_aliases = ["yolo", "dangerously-skip-permissions"], conflicts_with = "permission_mode")]
    pub(crate) allow_all: bool,
    /// What becomes of calls that no rule speaks of: default (looking is allowed, the rest is asked), accept-edits,
    /// plan (looking only) or allow-all
    #[arg(long, value_name = "MODE", value_parser = config::parse_mode)]
    pub(crate) permission_mode: Option<PermissionMode>,
    /// Lets file tools reach this folder too (may be repeated)
    #[arg(long, value_name = "DIR")]
    pub(crate) add_dir: Vec<PathBuf>,
    /// More settings, as a file or as JSON; weaker than the other flags
    #[arg(long, value_name = "FILE|{JSON}")]
    pub(crate) settings: Option<String>,
    /// Reads only these of your settings, the project's, and yours for the project; none without a word
    #[arg(long, value_enum, value_delimiter = ',', num_args = 0..=1, value_name = "user,project,local")]
    pub(crate) setting_sources: Option<Vec<SettingSource>>,
}

/// Files that can be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SettingSource {
    /// Yours.
    User,
    /// The project's.
    Project,
    /// Yours for the project.
    Local,
}

impl PermissionArgs {
    /// The files that are read.
    pub(crate) fn choices(&self) -> Vec<SettingsFileScope> {
        let chosen = |sources: &Vec<SettingSource>| sources.iter().map(|source| (*source).into()).collect();
        self.setting_sources.as_ref().map_or(SettingsFileScope::ALL.to_vec(), chosen)
    }

    /// The mode that was typed.
    pub(crate) fn mode(&self) -> Option<PermissionMode> {
        if self.allow_all { Some(PermissionMode::AllowAll) } else { self.permission_mode }
    }
}

impl From<SettingSource> for SettingsFileScope {
    fn from(source: SettingSource) -> SettingsFileScope {
        match source {
            SettingSource::User => SettingsFileScope::User,
            SettingSource::Project => SettingsFileScope::Project,
            SettingSource::Local => SettingsFileScope::Local,
        }
    }
}

/// How long a person is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AskWait {
    /// Until somebody decides.
    ForEver,
    /// At most this long.
    For(Duration),
}

/// Reads a time, or `for-ever`.
pub(super) fn parse_wait(text: &str) -> Result<AskWait, String> {
    match text {
        "for-ever" => Ok(AskWait::ForEver),
        time => config::parse_time(time).map(AskWait::For).map_err(|error| format!("{error}, or write for-ever")),
    }
}
