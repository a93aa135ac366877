//! `bosun fleet`: many agents work through the todos of a goal or a plan.

mod account;
mod begin;
mod check;
mod follow;
mod judge;
mod lines;
mod report;
mod reuse;
mod schema;
mod status;
mod typed;

use crate::args::{FleetArgs, FleetCommand, TodoListArgs, TodoPlaceArgs, TodosArgs, TodosCommand};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::setup::Setup;
use crate::todos;

pub(crate) use begin::run_plan;
pub(crate) use status::{is_done, tell_unfinished};

pub(crate) async fn perform(args: FleetArgs) -> Result<Exit, Failure> {
    match args.command {
        None => begin::goal(args.goal, &args.work, *args.run).await,
        Some(FleetCommand::Run { file, work, run }) => begin::plan(&file, &work, *run).await,
        Some(FleetCommand::Resume { id, run }) => begin::resume(id.as_deref(), *run).await,
        Some(FleetCommand::Status(options)) => status::tell(&options),
        Some(FleetCommand::Stop(options)) => status::stop(&options).await,
        Some(FleetCommand::Graph { id, mermaid, dot }) => graph(id, mermaid, dot).await,
        Some(FleetCommand::Check(options)) => check::check(&options).await,
        Some(FleetCommand::Schema) => schema::print(),
    }
}

/// The graph of the newest fleet, as every other view of the todos shows it.
async fn graph(session: Option<String>, mermaid: bool, dot: bool) -> Result<Exit, Failure> {
    let id = status::choose(&Setup::read()?.home, session.as_deref(), None)?;
    let place = TodoPlaceArgs { session: Some(id.to_string()), json: false };
    let command = Some(TodosCommand::Graph { place: place.clone(), mermaid, dot });
    todos::perform(TodosArgs { command, list: TodoListArgs { place, status: None } }).await
}
