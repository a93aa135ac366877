//! The request for a fleet, and why it is refused.

use std::path::PathBuf;

use protocol::api::{FleetParams, NewTodo};
use protocol::{FleetConfig, Hinted, Refusal, SessionId, Todo};
use store::StoreError;

use crate::supervisor::InputRejection;
use crate::todos::TodoEditError;

/// A fleet to start.
#[derive(Debug, Clone)]
pub struct FleetRequest {
    /// Its settings. With 0 rounds, the main agent does not review the result.
    pub config: FleetConfig,
    /// The plan; if empty, the main agent makes one.
    pub todos: Vec<Todo>,
    /// Whether it reuses the results of earlier fleets.
    pub reuse: ResultReuse,
    /// Files in the workspace whose changes do not make results stale.
    pub excluded: Vec<PathBuf>,
}

/// Whether a fleet reuses the results of earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultReuse {
    /// A todo with a matching result is not done again.
    Reuse,
    /// Every todo is done.
    DoAll,
}

impl FleetRequest {
    /// A fleet whose main agent plans.
    pub fn new(config: FleetConfig) -> FleetRequest {
        FleetRequest { config, todos: Vec::new(), reuse: ResultReuse::Reuse, excluded: Vec::new() }
    }

    /// Whether it has neither a goal nor a plan, so that it is about whatever todos there are.
    pub fn is_blank(&self) -> bool {
        self.config.goal.trim().is_empty() && self.todos.is_empty()
    }
}

impl TryFrom<FleetParams> for FleetRequest {
    type Error = FleetError;

    /// Refuses options that need isolated workers, if they share the folder.
    fn try_from(params: FleetParams) -> Result<FleetRequest, FleetError> {
        let config = params.config();
        let FleetParams { dirty, merge, ref check, fresh, todos, excluded, .. } = params;
        // The check of a plan file is there for its isolated runs.
        if !config.isolated && (dirty || merge || check.is_some() && config.plan.is_none()) {
            return Err(FleetError::SharedFolder);
        }
        let reuse = if fresh { ResultReuse::DoAll } else { ResultReuse::Reuse };
        let todos = todos.into_iter().zip(1..).map(planned_todo).collect::<Result<_, _>>()?;
        Ok(FleetRequest { config, todos, reuse, excluded })
    }
}

fn planned_todo((new, number): (NewTodo, usize)) -> Result<Todo, FleetError> {
    let NewTodo { id, title, description, depends_on, agent_type, model, files, check, expects } = new;
    let id = id.ok_or(FleetError::NoTodoId { number })?;
    Ok(Todo { description, depends_on, agent_type, model, files, check, expects, ..Todo::new(id.0, title) })
}

/// Why a fleet did not start.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// The session was opened without a runner of fleets.
    #[error("this program cannot run fleets")]
    NoRunner,
    /// The plan is unusable.
    #[error("the fleet cannot use this plan:\n{}", .0.join("\n"))]
    Plan(Vec<String>),
    /// A todo of the plan has no id.
    #[error("todo {number} of the plan has no id")]
    NoTodoId {
        /// Its position, from 1.
        number: usize,
    },
    /// The session has no fleet to resume.
    #[error("no fleet has run in this session")]
    NoFleet,
    /// The session's fleet is at work.
    #[error("a fleet is already working on the todos of this session")]
    AtWork(SessionId),
    /// The session has an unfinished fleet that no process drives.
    #[error("this session has an unfinished fleet")]
    Unfinished(SessionId),
    /// It has options for workers with their own checkouts, but its workers share the folder.
    #[error("the options for merging need workers with their own checkouts")]
    SharedFolder,
    /// Its workers cannot have their own checkouts.
    #[error("workers cannot have their own checkouts: {}", .0.message)]
    Repository(Refusal),
    /// The plan could not be written.
    #[error(transparent)]
    EditFailed(#[from] TodoEditError),
    /// The session rejected it.
    #[error(transparent)]
    Rejected(#[from] InputRejection),
    /// The session's store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Hinted for FleetError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            FleetError::NoTodoId { .. } => "give every todo an `id`; `dependsOn` names these ids".into(),
            FleetError::NoFleet => "bosun fleet \"GOAL\" or bosun fleet run PLAN starts one".into(),
            FleetError::AtWork(session) => format!(
                "add todos to it with `bosun todos add --session {session}`, ask the main agent to change its plan, or \
                 stop it with `bosun fleet stop {session}`"
            ),
            FleetError::Unfinished(session) => format!(
                "resume it with `bosun fleet resume {session}` or with `/fleet` and no prompt, or end it with `bosun \
                 fleet stop {session}`"
            ),
            FleetError::SharedFolder => "start the fleet with isolation".into(),
            FleetError::Repository(refusal) => return refusal.hint.clone(),
            FleetError::NoRunner
            | FleetError::Plan(_)
            | FleetError::EditFailed(_)
            | FleetError::Rejected(_)
            | FleetError::Store(_) => return None,
        })
    }
}
