//! The request for a fleet, and its outcome.

use protocol::{FleetConfig, FleetEnd, Todo};
use store::StoreError;
use tokio::sync::watch;

use crate::TodoEditError;
use crate::supervisor::InputRejection;

/// A fleet to start.
#[derive(Debug, Clone)]
pub struct FleetRequest {
    /// Its settings. With 0 rounds, the main agent does not review the result.
    pub config: FleetConfig,
    /// The plan; if empty, the main agent makes one.
    pub todos: Vec<Todo>,
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

/// A running fleet. Dropping this does not stop it.
#[derive(Debug, Clone)]
pub struct FleetHandle(watch::Receiver<Option<FleetOutcome>>);

/// Sends the outcome from the driver.
pub(crate) type FleetOutcomeSender = watch::Sender<Option<FleetOutcome>>;

impl FleetHandle {
    pub(crate) fn new() -> (FleetOutcomeSender, FleetHandle) {
        let (sender, receiver) = watch::channel(None);
        (sender, FleetHandle(receiver))
    }

    /// Waits for the end of the fleet.
    pub async fn wait(&mut self) -> FleetOutcome {
        let outcome = self.0.wait_for(Option::is_some).await.ok().and_then(|outcome| outcome.clone());
        // A driver that was dropped without an outcome ended with its session.
        outcome.unwrap_or(FleetOutcome::SessionEnded)
    }
}
