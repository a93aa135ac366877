//! The API's answers from a session's file. The process that runs the session gives the same ones.

use protocol::api::{
    AsksParams, EventsPage, EventsParams, ExportParams, FleetStatusResult, Method, ModeParams, ModelParams,
    OutputResult, PlanResult, RefusalKind, RunPhase, SessionMethod, SessionWaitEnd, SessionWaitResult, TaskParams,
    TaskWaitParams, TaskWaitResult, TasksParams, TodosParams,
};
use protocol::{TaskId, TaskState};
use rpc::{ErrorObject, read_params};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use store::StoreError;

use crate::{ClientError, StoredSession, log};

/// The maximum number of rows per page.
const MAX_PAGE_ROWS: u64 = 1000;

/// The default number of events per page.
const DEFAULT_PAGE_ROWS: u64 = 100;

impl StoredSession {
    /// Answers a method from the file, if the file is its source.
    pub(crate) fn answer(&self, method: Method, params: Value) -> Result<Value, ClientError> {
        let of_session = method.of_session().ok_or(ClientError::WrongScope(method))?;
        match of_session {
            SessionMethod::SessionGet => to_json(self.view()?),
            SessionMethod::ModeGet => to_json(ModeParams { mode: self.view()?.mode }),
            SessionMethod::ModelGet => {
                let view = self.view()?;
                to_json(ModelParams { model: view.model, effort: view.effort })
            }
            SessionMethod::PlanRead => to_json(PlanResult { text: self.plan().map_err(ClientError::internal)? }),
            SessionMethod::TasksList => self.list_tasks(parse(params)?),
            SessionMethod::TasksGet => {
                let TaskParams { task } = parse(params)?;
                to_json(self.record(task)?.ok_or_else(|| unknown_task(task))?)
            }
            SessionMethod::TasksOutput => {
                let TaskParams { task } = parse(params)?;
                let view = self.task(task)?.ok_or_else(|| unknown_task(task))?;
                to_json(OutputResult { output: self.output(&view) })
            }
            SessionMethod::TodosList => {
                let wanted: TodosParams = parse(params)?;
                to_json(self.todos(&TodosParams { limit: page_limit(wanted.limit), ..wanted })?)
            }
            SessionMethod::AsksList => {
                let wanted: AsksParams = parse(params)?;
                to_json(self.asks(&AsksParams { limit: page_limit(wanted.limit), ..wanted })?)
            }
            SessionMethod::SessionExport => {
                let ExportParams { format } = parse(params)?;
                to_json(log::export(self.home(), self.id(), format)?)
            }
            SessionMethod::SessionFleetGet => to_json(FleetStatusResult { fleet: self.fleet_status()? }),
            SessionMethod::SessionWait => to_json(self.wait_at_rest()?),
            SessionMethod::TasksWait => {
                let TaskWaitParams { task, .. } = parse(params)?;
                // Nothing works in a session that no process runs.
                to_json(TaskWaitResult { at_rest: true, task: self.task(task)?.ok_or_else(|| unknown_task(task))? })
            }
            SessionMethod::EventsList => self.list_events(parse(params)?),
            SessionMethod::SessionCommand
            | SessionMethod::SessionSend
            | SessionMethod::SessionInterrupt
            | SessionMethod::SessionStop
            | SessionMethod::SessionFleetStart
            | SessionMethod::SessionFleetResume
            | SessionMethod::SessionFleetUncommitted
            | SessionMethod::CommandsList
            | SessionMethod::CommandsInvoke
            | SessionMethod::ModeSet
            | SessionMethod::PlanUpdate
            | SessionMethod::PlanDelete
            | SessionMethod::ModelSet
            | SessionMethod::PermissionSet
            | SessionMethod::RulesSet
            | SessionMethod::AgentGet
            | SessionMethod::AgentSelect
            | SessionMethod::TasksRegister
            | SessionMethod::TasksReport
            | SessionMethod::TasksOrphan
            | SessionMethod::ModelAsk
            | SessionMethod::ContextGet
            | SessionMethod::ConversationCut
            | SessionMethod::SessionRename
            | SessionMethod::PromptSuggest
            | SessionMethod::RewindPointsList
            | SessionMethod::RewindPreview
            | SessionMethod::RewindApply
            | SessionMethod::AgentsList
            | SessionMethod::SessionMcpList
            | SessionMethod::SessionMcpToggle
            | SessionMethod::SessionMcpReconnect
            | SessionMethod::SessionMcpSetServers
            | SessionMethod::AgentsStart
            | SessionMethod::ShellRun
            | SessionMethod::SkillsList
            | SessionMethod::SkillsToggle
            | SessionMethod::SkillsReload
            | SessionMethod::TasksStop
            | SessionMethod::TasksPromote
            | SessionMethod::TasksForget
            | SessionMethod::TodosAdd
            | SessionMethod::TodosUpdate
            | SessionMethod::TodosEdit
            | SessionMethod::AsksDecide
            | SessionMethod::EventsSubscribe => Err(ClientError::NotRunning(self.id())),
        }
    }

    /// The end of a wait for a session that no process runs: only another owner can continue it.
    fn wait_at_rest(&self) -> Result<SessionWaitResult, StoreError> {
        let seq = self.view()?.events;
        Ok(SessionWaitResult { end: SessionWaitEnd::Quiet, phase: RunPhase::Quiet, seq })
    }

    fn list_events(&self, wanted: EventsParams) -> Result<Value, ClientError> {
        let limit = wanted.limit.unwrap_or(DEFAULT_PAGE_ROWS).min(MAX_PAGE_ROWS);
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let events = match wanted.task {
            None => self.events_after(wanted.after, limit)?,
            Some(task) => {
                let events = self.task_events(task)?.into_iter();
                events.filter(|event| event.seq > wanted.after).take(limit).collect()
            }
        };
        to_json(EventsPage { events })
    }

    fn list_tasks(&self, wanted: TasksParams) -> Result<Value, ClientError> {
        if let Some(state) = wanted.state.as_deref().filter(|state| !TaskState::NAMES.contains(state)) {
            let known = TaskState::NAMES.join(", ");
            let why = format!("`{state}` is not a state; use one of: {known}");
            return Err(ClientError::Refused(ErrorObject::refused(RefusalKind::Invalid, why)));
        }
        to_json(self.tasks(&TasksParams { limit: page_limit(wanted.limit), ..wanted })?)
    }
}

pub(crate) fn parse<P: DeserializeOwned + Serialize>(params: Value) -> Result<P, ClientError> {
    read_params(params).map_err(ClientError::Refused)
}

fn unknown_task(task: TaskId) -> ClientError {
    ClientError::Refused(ErrorObject::refused(RefusalKind::NoTask, format_args!("there is no task {task}")))
}

pub(crate) fn to_json(answer: impl Serialize) -> Result<Value, ClientError> {
    serde_json::to_value(answer).map_err(ClientError::internal)
}

/// Caps the number of rows per page.
fn page_limit(limit: Option<u64>) -> Option<u64> {
    limit.map(|limit| limit.min(MAX_PAGE_ROWS))
}
