//! Arguments of `bosun explain`.

use std::path::PathBuf;

use super::PermissionArgs;

/// `bosun explain`.
#[derive(Debug, clap::Args)]
pub(crate) struct ExplainArgs {
    /// The call, such as 'shell(git push)', or a tool and its argument
    #[arg(required = true, num_args = 1..=2, value_name = "CALL")]
    pub(crate) call: Vec<String>,
    /// Works in this folder
    #[arg(short = 'C', long, value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) permissions: PermissionArgs,
    /// Prints JSON
    #[arg(long)]
    pub(crate) json: bool,
}
