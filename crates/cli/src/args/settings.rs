//! What can be said about settings and trust.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};
use config::RuleLine;

use super::PermissionArgs;

/// `bosun config`.
#[derive(Debug, clap::Args)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    pub(crate) command: ConfigCommand,
}

/// What can be done with settings.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Shows every setting that counts here, and what is ignored
    Show(Box<ConfigShowArgs>),
    /// Prints the files that settings are read from, strongest first
    Path {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Reads files of settings and says what is wrong with them; those of this folder unless others are named
    Check {
        /// The files
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
    /// With where each came from
    #[arg(long)]
    pub(crate) origin: bool,
    /// As JSON
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
    /// Into which of your files: the one for this project, or the one for all
    #[arg(long = "in", value_enum, default_value_t = RuleScope::Local, value_name = "PLACE")]
    pub(crate) scope: RuleScope,
}

/// Files that rules can be added to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RuleScope {
    /// Yours for this project.
    Local,
    /// Yours for all.
    User,
}

/// `bosun trust`.
#[derive(Debug, clap::Args)]
pub(crate) struct TrustArgs {
    /// The project; the one of this folder when absent
    #[arg(value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
    /// Trusts it without asking
    #[arg(long, short = 'y', conflicts_with_all = ["show", "revoke", "list"])]
    pub(crate) yes: bool,
    /// Only shows what its files would do
    #[arg(long, conflicts_with_all = ["revoke", "list"])]
    pub(crate) show: bool,
    /// Trusts it no more
    #[arg(long, conflicts_with = "list")]
    pub(crate) revoke: bool,
    /// Lists the projects that are trusted
    #[arg(long, conflicts_with = "folder")]
    pub(crate) list: bool,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}
