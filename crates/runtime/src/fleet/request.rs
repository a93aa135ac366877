//! The request for a fleet, and why it is refused.

use std::path::PathBuf;

use protocol::api::FleetParams;
use protocol::{FleetConfig, SessionId, Todo};
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
        let FleetParams { isolated, dirty, merge, ref check, fresh, .. } = params;
        if !isolated && (dirty || merge || check.is_some()) {
            return Err(FleetError::SharedFolder);
        }
        let reuse = if fresh { ResultReuse::DoAll } else { ResultReuse::Reuse };
        Ok(FleetRequest { reuse, ..FleetRequest::new(params.config()) })
    }
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
    /// The session has no fleet to resume.
    #[error("no fleet has run in this session")]
    NoFleet,
    /// The session's fleet is at work.
    #[error(
        "a fleet is already working on the todos of this session; add todos to it with `bosun todos add --session \
         {0}`, ask the main agent to change its plan, or stop it with `bosun fleet stop {0}`"
    )]
    AtWork(SessionId),
    /// The session has an unfinished fleet that no process drives.
    #[error(
        "this session has an unfinished fleet; resume it with `bosun fleet resume {0}` or with `/fleet` and no \
         prompt, or end it with `bosun fleet stop {0}`"
    )]
    Unfinished(SessionId),
    /// It has options for workers with their own checkouts, but its workers share the folder.
    #[error("the options for merging need workers with their own checkouts; start the fleet with isolation")]
    SharedFolder,
    /// Its workers cannot have their own checkouts.
    #[error("workers cannot have their own checkouts: {0}")]
    Repository(String),
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
