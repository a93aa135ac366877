//! Arguments for settings and trust.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};
use config::RuleLine;
use protocol::api::UserSettingsScope;

use super::PermissionArgs;

/// `bosun config`.
#[derive(Debug, clap::Args)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    pub(crate) command: ConfigCommand,
}

/// `bosun config` subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Shows all settings in effect here, and the ignored ones
    Show(Box<ConfigShowArgs>),
    /// Prints the settings files, highest precedence first
    Path {
        /// Prints JSON
        #[arg(long)]
        json: bool,
    },
    /// Reports errors in settings files (default: those that apply in this folder)
    Check {
        /// The files to check
        files: Vec<PathBuf>,
    },
    /// Adds a rule that allows calls
    Allow(RuleArgs),
    /// Adds a rule that asks before calls
    Ask(RuleArgs),
    /// Adds a rule that denies calls
    Deny(RuleArgs),
}

/// `bosun config show`.
#[derive(Debug, clap::Args)]
pub(crate) struct ConfigShowArgs {
    /// Shows where each setting comes from
    #[arg(long)]
    pub(crate) origin: bool,
    /// Prints JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) permissions: PermissionArgs,
}

/// `bosun config allow`, `ask` and `deny`.
#[derive(Debug, clap::Args)]
pub(crate) struct RuleArgs {
    /// The rule, such as 'shell(git status)' or 'edit(src/**)'
    #[arg(value_parser = RuleLine::parse)]
    pub(crate) rule: RuleLine,
    /// Which of your settings files to add it to: for this project, or for all projects
    #[arg(long = "in", value_enum, default_value_t = RuleScope::Local, value_name = "PLACE")]
    pub(crate) scope: RuleScope,
}

/// Settings files that rules can be added to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RuleScope {
    /// Yours for this project.
    Local,
    /// Yours for all projects.
    User,
}

impl From<RuleScope> for UserSettingsScope {
    fn from(scope: RuleScope) -> UserSettingsScope {
        match scope {
            RuleScope::Local => UserSettingsScope::Local,
            RuleScope::User => UserSettingsScope::User,
        }
    }
}

/// `bosun trust`.
#[derive(Debug, clap::Args)]
pub(crate) struct TrustArgs {
    /// The project (default: the project of this folder)
    #[arg(value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
    /// Trusts it without asking
    #[arg(long, short = 'y', conflicts_with_all = ["show", "revoke", "list"])]
    pub(crate) yes: bool,
    /// Only shows what its files would change
    #[arg(long, conflicts_with_all = ["revoke", "list"])]
    pub(crate) show: bool,
    /// Stops trusting it
    #[arg(long, conflicts_with = "list")]
    pub(crate) revoke: bool,
    /// Lists trusted projects
    #[arg(long, conflicts_with = "folder")]
    pub(crate) list: bool,
    /// Prints JSON
    #[arg(long)]
    pub(crate) json: bool,
}
