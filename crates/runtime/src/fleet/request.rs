//! The request for a fleet, and its outcome.

use std::path::PathBuf;

use protocol::api::FleetParams;
use protocol::{FleetConfig, FleetEnd, SessionId, Todo, TodoId};
use store::StoreError;
use tokio::sync::watch;

use super::services::{FleetServices, ResultReuse};
use crate::fleet_session::{InputRejection, TodoEditError};
use crate::merging::MergeSummary;
use crate::result_cache::{CacheMissReason, CacheMisses};

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

impl FleetRequest {
    /// A fleet whose main agent plans.
    pub fn new(config: FleetConfig) -> FleetRequest {
        FleetRequest { config, todos: Vec::new(), reuse: ResultReuse::Reuse, excluded: Vec::new() }
    }

    /// Whether it has neither a goal nor a plan, so that it is about whatever todos there are.
    pub(super) fn is_blank(&self) -> bool {
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

/// How a fleet's run in this process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FleetOutcome {
    /// It did what it could, or was stopped.
    Ended(FleetEnd),
    /// A limit of the session stopped it.
    Halted(FleetLimit),
    /// There was no usable plan, for this reason.
    Unplanned(String),
    /// It could not continue, for this reason; a new owner process can resume it.
    Broken(String),
    /// The session ended first; a new owner process resumes it.
    SessionEnded,
}

/// A limit that stops a fleet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FleetLimit {
    /// The session's budget is exhausted.
    Budget,
    /// Its time is up.
    Time,
}

/// A fleet that this process drives, or has driven. Dropping this does not stop it, and holding it keeps nothing of the
/// session open.
#[derive(Debug, Clone)]
pub struct FleetHandle {
    outcome: watch::Receiver<Option<FleetOutcome>>,
    misses: CacheMisses,
    merged: watch::Receiver<Option<MergeSummary>>,
}

/// Sends the outcome from the driver.
pub(super) type FleetOutcomeSender = watch::Sender<Option<FleetOutcome>>;

impl FleetHandle {
    pub(super) fn new(services: &FleetServices) -> (FleetOutcomeSender, FleetHandle) {
        let (sender, outcome) = watch::channel(None);
        let misses = services.cache.as_ref().map(|cache| cache.misses()).unwrap_or_default();
        (sender, FleetHandle { outcome, misses, merged: services.merger.summary() })
    }

    /// Waits for the end of the fleet.
    pub async fn wait(&mut self) -> FleetOutcome {
        let outcome = self.outcome.wait_for(Option::is_some).await.ok().and_then(|outcome| outcome.clone());
        // A driver that was dropped without an outcome ended with its session.
        outcome.unwrap_or(FleetOutcome::SessionEnded)
    }

    /// The outcome, if the fleet has ended.
    pub fn outcome(&self) -> Option<FleetOutcome> {
        self.outcome.borrow().clone()
    }

    /// Why a todo that an earlier fleet did is done again; returned only once.
    pub fn miss_reason(&self, todo: &TodoId) -> Option<CacheMissReason> {
        self.misses.take(todo)
    }

    /// How the work of isolated workers was merged, once it is.
    pub fn merge_summary(&self) -> Option<MergeSummary> {
        self.merged.borrow().clone()
    }
}
