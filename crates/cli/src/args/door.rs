//! What can be said about doors.

use clap::{Subcommand, ValueEnum};

/// `bosun door`.
#[derive(Debug, clap::Args)]
pub(crate) struct DoorArgs {
    /// Whose SDK speaks
    #[arg(value_enum, value_name = "FAMILY")]
    pub(crate) family: Family,
    /// What the SDK says on its command line
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    pub(crate) rest: Vec<String>,
}

/// A family of SDKs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Family {
    /// The Claude Agent SDKs.
    Claude,
    /// The Copilot SDKs.
    Copilot,
}

/// `bosun doors`.
#[derive(Debug, clap::Args)]
pub(crate) struct DoorsArgs {
    #[command(subcommand)]
    pub(crate) command: DoorsCommand,
}

/// What can be done with doors.
#[derive(Debug, Subcommand)]
pub(crate) enum DoorsCommand {
    /// Makes `bosun-claude` and `bosun-copilot` in a folder, for SDKs to be pointed at
    Install {
        /// The folder
        #[arg(value_name = "DIR")]
        folder: std::path::PathBuf,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
}
