//! Permission arguments: one more layer of settings.

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use config::RuleLine;
use protocol::{PermissionMode, SettingsFileScope};

/// Flags for settings, mostly for what tool calls may do.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct PermissionArgs {
    /// Allows calls like this, such as 'shell(git status)' or 'edit(src/**)' (may be repeated)
    #[arg(long, value_name = "RULE", value_parser = RuleLine::parse)]
    pub(crate) allow: Vec<RuleLine>,
    /// Asks before calls like this, even if another rule allows them (may be repeated)
    #[arg(long, value_name = "RULE", value_parser = RuleLine::parse)]
    pub(crate) ask: Vec<RuleLine>,
    /// Denies calls like this, even if another rule allows them (may be repeated)
    #[arg(long, value_name = "RULE", value_parser = RuleLine::parse)]
    pub(crate) deny: Vec<RuleLine>,
    /// Allows every call that no rule asks about or denies
    #[arg(long, visible_aliases = ["yolo", "dangerously-skip-permissions"], conflicts_with = "permission_mode")]
    pub(crate) allow_all: bool,
    /// How to treat calls that no rule matches: default (allows reading, asks about the rest), accept-edits, plan
    /// (reading only) or allow-all
    #[arg(long, value_name = "MODE", value_parser = config::parse_mode)]
    pub(crate) permission_mode: Option<PermissionMode>,
    /// Lets file tools access this folder too (may be repeated)
    #[arg(long, value_name = "DIR")]
    pub(crate) add_dir: Vec<PathBuf>,
    /// More settings, as a file or as JSON; other flags override them
    #[arg(long, value_name = "FILE|{JSON}")]
    pub(crate) settings: Option<String>,
    /// Reads only these settings files: yours, the project's, or yours for the project; without a value none
    #[arg(long, value_enum, value_delimiter = ',', num_args = 0..=1, value_name = "user,project,local")]
    pub(crate) setting_sources: Option<Vec<SettingSource>>,
}

/// Settings files that can be excluded.
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
    /// The settings files to read, unless all are.
    pub(super) fn settings_scopes(&self) -> Option<Vec<SettingsFileScope>> {
        let chosen = |sources: &Vec<SettingSource>| sources.iter().map(|source| (*source).into()).collect();
        self.setting_sources.as_ref().map(chosen)
    }

    /// The permission mode given by the flags.
    pub(super) fn mode(&self) -> Option<PermissionMode> {
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

/// How long to wait for a decision of the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AskWait {
    /// Until the user decides.
    Forever,
    /// At most this long.
    For(Duration),
}

/// Reads a time, or `forever`.
pub(super) fn parse_wait(text: &str) -> Result<AskWait, String> {
    match text {
        "forever" => Ok(AskWait::Forever),
        time => config::parse_time(time).map(AskWait::For).map_err(|error| format!("{error}, or write forever")),
    }
}
