//! `bosun checkouts`: the checkouts that agents work in, and those in the trash.

mod list;

use protocol::api::MovedCheckout;
use tui::print;

use crate::args::{CheckoutsArgs, CheckoutsCommand};
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::setup::Setup;

pub(crate) fn perform(args: &CheckoutsArgs) -> Result<CommandExit, CliError> {
    let setup = Setup::read()?;
    match &args.command {
        None => list::list(&setup, args.json),
        Some(CheckoutsCommand::Rm { ids }) => setup.sources().discard_checkouts(ids, print_moved)?,
        Some(CheckoutsCommand::Restore { id }) => {
            setup.sources().restore_checkout(id)?.location.into_iter().for_each(print::output);
        }
    }
    Ok(CommandExit::Success)
}

fn print_moved(MovedCheckout { task, location }: MovedCheckout) {
    match location {
        Some(name) => print::output(format_args!("{task}  in the trash as {name}")),
        None => print::output(format_args!("{task}  removed")),
    }
}
