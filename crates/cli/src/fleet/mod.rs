//! `bosun fleet`: many agents work through the todos of a goal or a plan.

mod begin;
mod check;
mod display;
mod exit;
mod follow;
mod plan_validator;
mod progress;
mod report;
mod reuse;
mod schema;
mod status;
mod validate;

use crate::args::{FleetArgs, FleetCommand, TodoListArgs, TodoSessionArgs, TodosArgs, TodosCommand};
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::setup::Setup;
use crate::todos;

pub(crate) use begin::run_plan;
pub(crate) use exit::FleetRunEnd;
pub(crate) use progress::FleetProgress;
pub(crate) use tui::fleet_notes::{resume_command, unfinished_fleet_note};

pub(crate) async fn perform(args: FleetArgs) -> Result<CommandExit, CliError> {
    match args.command {
        None => begin::start_from_goal(args.goal, &args.work, *args.run).await,
        Some(FleetCommand::Run { file, work, run }) => begin::start_from_plan(&file, &work, *run).await,
        Some(FleetCommand::Resume { id, run }) => begin::resume(id.as_deref(), *run).await,
        Some(FleetCommand::Status(options)) => status::print_status(&options).await,
        Some(FleetCommand::Stop(options)) => status::stop(&options).await,
        Some(FleetCommand::Graph { id, mermaid, dot }) => graph(id, mermaid, dot).await,
        Some(FleetCommand::Check(options)) => check::check(&options).await,
        Some(FleetCommand::Schema) => Ok(schema::print_schema()),
    }
}

/// Shows the graph of the newest fleet in the same format as `bosun todos graph`.
async fn graph(session: Option<String>, mermaid: bool, dot: bool) -> Result<CommandExit, CliError> {
    let id = status::choose_session(&Setup::read()?.home, session.as_deref(), None)?;
    let selection = TodoSessionArgs { session: Some(id.to_string()), json: false };
    let command = Some(TodosCommand::Graph { session_args: selection.clone(), mermaid, dot });
    todos::perform(TodosArgs { command, list: TodoListArgs { session_args: selection, status: None } }).await
}
