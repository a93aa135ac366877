//! Arguments of `bosun sdk`.

use clap::{Subcommand, ValueEnum};

/// `bosun sdk serve`.
#[derive(Debug, clap::Args)]
pub(crate) struct AdapterArgs {
    /// The SDK family
    #[arg(value_enum, value_name = "FAMILY")]
    pub(crate) family: SdkFamily,
    /// Arguments that the SDK passes
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

/// `bosun sdk` subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum SdkCommand {
    /// Creates `bosun-claude` and `bosun-copilot` in a folder, for SDKs to start
    Install {
        /// The folder
        #[arg(value_name = "DIR")]
        folder: std::path::PathBuf,
        /// Prints JSON
        #[arg(long)]
        json: bool,
    },
    /// Serves the program that started it, in the protocol of another agent's SDK
    Serve(AdapterArgs),
}
