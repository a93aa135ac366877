//! Arguments of the session host as a service of the machine.

use clap::Subcommand;

/// `bosun service`.
#[derive(Debug, clap::Args)]
pub(crate) struct ServiceArgs {
    #[command(subcommand)]
    pub(crate) command: ServiceCommand,
}

/// `bosun service` subcommands.
#[derive(Debug, Clone, Copy, Subcommand)]
pub(crate) enum ServiceCommand {
    /// Writes a systemd user unit that runs the session host, and enables and starts it
    Install {
        /// Only writes the file
        #[arg(long)]
        no_start: bool,
    },
    /// Stops and disables the unit, and removes its file
    Uninstall,
    /// Shows whether the unit is installed, enabled and running
    Status {
        /// Prints JSON
        #[arg(long)]
        json: bool,
    },
}
