//! Arguments of `bosun checkouts`.

use clap::Subcommand;

/// `bosun checkouts`.
#[derive(Debug, clap::Args)]
pub(crate) struct CheckoutsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<CheckoutsCommand>,
    /// Prints JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `bosun checkouts` subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum CheckoutsCommand {
    /// Moves checkouts that no agent works in to the trash, which `bosun gc` empties after a while
    Rm {
        /// Ids of the tasks that they belong to; the beginning of an id is enough
        #[arg(value_name = "ID", required = true)]
        ids: Vec<String>,
    },
    /// Restores a checkout from the trash
    Restore {
        /// Id of the task that it belongs to; the beginning of the id is enough
        #[arg(value_name = "ID")]
        id: String,
    },
}
