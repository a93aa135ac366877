//! `bosun fleet`: plans, and what a fleet would do with them.

mod check;
mod judge;
mod reuse;
mod schema;

use crate::args::{FleetArgs, FleetCommand};
use crate::exit::Exit;
use crate::failure::Failure;

pub(crate) async fn perform(args: &FleetArgs) -> Result<Exit, Failure> {
    match &args.command {
        FleetCommand::Check(options) => check::check(options).await,
        FleetCommand::Schema => schema::print(),
    }
}
