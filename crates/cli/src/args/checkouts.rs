//! What can be said about checkouts.

use clap::Subcommand;

/// `bosun checkouts`.
#[derive(Debug, clap::Args)]
pub(crate) struct CheckoutsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<CheckoutsCommand>,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What is done with a checkout.
#[derive(Debug, Subcommand)]
pub(crate) enum CheckoutsCommand {
    /// Moves checkouts that nobody works in to the trash, which `bosun gc` empties after a while
    Rm {
        /// The tasks whose they are; the beginning of an id is enough
        #[arg(value_name = "ID", required = true)]
        ids: Vec<String>,
    },
    /// Brings a checkout back from the trash
    Restore {
        /// The task whose it was; the beginning of its id is enough
        #[arg(value_name = "ID")]
        id: String,
    },
}
