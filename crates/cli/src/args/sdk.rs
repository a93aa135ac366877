//! `bosun sdk`: serves other agents' SDKs.

use clap::{Subcommand, ValueEnum};

/// `bosun sdk serve`.
#[derive(Debug, clap::Args)]
pub(crate) struct AdapterArgs {
    /// Whose SDK speaks
    #[arg(value_enum, value_name = "FAMILY")]
    pub(crate) family: SdkFamily,
    /// What the SDK says on its command line
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    pub(crate) rest: Vec<String>,
}

/// A family of SDKs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SdkFamily {
    /// The Claude Agent SDKs.
    Claude,
    /// The Copilot SDKs.
    Copilot,
}

/// `bosun sdk`.
#[derive(Debug, clap::Args)]
pub(crate) struct SdkArgs {
    #[command(subcommand)]
    pub(crate) command: SdkCommand,
}

/// What can be done about SDKs.
#[derive(Debug, Subcommand)]
pub(crate) enum SdkCommand {
    /// Makes `bosun-claude` and `bosun-copilot` in a folder, for SDKs to be pointed at
    Install {
        /// The folder
        #[arg(value_name = "DIR")]
        folder: std::path::PathBuf,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Serves the program that started it, in the protocol of another agent's SDK
    Serve(AdapterArgs),
}
