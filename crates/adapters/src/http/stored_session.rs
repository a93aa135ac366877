//! Answers requests about a session that no process runs, from its file.

use host::Home;
use protocol::SessionId;
use protocol::api::{
    AsksParams, Method, ModeParams, ModelParams, OutputResult, PlanResult, TaskParams, TasksParams, TodosParams,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use store::SessionReader;

use super::problem::HttpProblem;

/// Maximum rows of a page.
pub(super) const MAX_PAGE_ROWS: u64 = 1000;

/// Answers the methods that do not need a process that runs the session.
pub(super) fn answer_from_store(
    reader: &SessionReader,
    home: &Home,
    id: SessionId,
    method: Method,
    input: Value,
) -> Result<Value, HttpProblem> {
    match method {
        Method::SessionGet => to_json(reader.session_view()?),
        Method::ModeGet => to_json(ModeParams { mode: reader.session_view()?.mode }),
        Method::ModelGet => to_json(ModelParams { model: reader.session_view()?.model }),
        Method::PlanRead => to_json(PlanResult { text: runtime::read_plan(home, id).map_err(HttpProblem::internal)? }),
        Method::TasksList => {
            let query: TasksParams = parse_params(input)?;
            to_json(reader.tasks(&TasksParams { limit: capped_limit(query.limit), ..query })?)
        }
        Method::TasksGet => {
            let TaskParams { task } = parse_params(input)?;
            to_json(reader.record(task)?.ok_or_else(|| HttpProblem::not_found(format!("there is no task {task}")))?)
        }
        Method::TasksOutput => {
            let TaskParams { task } = parse_params(input)?;
            let view = reader.task(task)?.ok_or_else(|| HttpProblem::not_found(format!("there is no task {task}")))?;
            to_json(OutputResult { output: runtime::task_output(home, id, &view) })
        }
        Method::TodosList => {
            let query: TodosParams = parse_params(input)?;
            to_json(reader.todos_page(&TodosParams { limit: capped_limit(query.limit), ..query })?)
        }
        Method::AsksList => {
            let query: AsksParams = parse_params(input)?;
            to_json(reader.asks_page(&AsksParams { limit: capped_limit(query.limit), ..query })?)
        }
        Method::SessionCommand
        | Method::SessionSend
        | Method::SessionInterrupt
        | Method::SessionStop
        | Method::SessionFleetStart
        | Method::CommandsList
        | Method::CommandsInvoke
        | Method::ModeSet
        | Method::PlanUpdate
        | Method::PlanDelete
        | Method::ModelSet
        | Method::PermissionSet
        | Method::RulesSet
        | Method::AgentGet
        | Method::AgentSelect
        | Method::ExternalTasksList
        | Method::ExternalTasksRegister
        | Method::ExternalTasksUpdate
        | Method::ExternalTasksOrphan
        | Method::ExternalTasksForget
        | Method::AgentsList
        | Method::AgentsStart
        | Method::TasksStop
        | Method::TasksPromote
        | Method::TasksForget
        | Method::TodosAdd
        | Method::TodosUpdate
        | Method::TodosEdit
        | Method::AsksDecide
        | Method::EventsSubscribe => Err(HttpProblem::conflict("no process runs the session")
            .remedy(format!("resume it first: POST /v1/sessions/{id}/resume"))),
    }
}

fn parse_params<T: DeserializeOwned>(input: Value) -> Result<T, HttpProblem> {
    serde_json::from_value(input).map_err(|error| HttpProblem::bad_request(error.to_string()))
}

fn to_json(answer: impl Serialize) -> Result<Value, HttpProblem> {
    serde_json::to_value(answer).map_err(HttpProblem::internal)
}

/// Limits the number of rows of a page.
fn capped_limit(limit: Option<u64>) -> Option<u64> {
    limit.map(|limit| limit.min(MAX_PAGE_ROWS))
}
