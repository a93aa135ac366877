//! What somebody asks of a fleet, and how it ended.

use protocol::{FleetConfig, FleetEnd, Todo};
use store::StoreError;
use tokio::sync::watch;

use crate::TodoEditError;
use crate::supervisor::InputRejection;

/// A fleet to begin.
#[derive(Debug, Clone)]
pub struct FleetRequest {
    /// How it works. With no rounds, the main agent does not look at the result.
    pub terms: FleetConfig,
    /// The plan; the main agent makes it when there is none.
    pub todos: Vec<Todo>,
}

/// Why a fleet did not begin.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// The plan cannot be worked by.
    #[error("the plan cannot be worked by:\n{}", .0.join("\n"))]
    Plan(Vec<String>),
    /// No fleet has been here, so none can go on.
    #[error("no fleet has worked in this session")]
    NoFleet,
    /// The plan could not be written.
    #[error(transparent)]
    EditFailed(#[from] TodoEditError),
    /// The session did not take it.
    #[error(transparent)]
    Rejected(#[from] InputRejection),
    /// The session's file failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// How a fleet's run in this process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FleetOutcome {
    /// It did what it could, or somebody stopped it.
    Ended(FleetEnd),
    /// A limit of the session stopped it.
    Halted(FleetLimit),
    /// There was no plan to work by, for this reason.
    Unplanned(String),
    /// It could not be driven on, for this reason; a new owner can resume it.
    Broken(String),
    /// The session stopped under it; a new owner goes on.
    SessionEnded,
}

/// A limit that stops a fleet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FleetLimit {
    /// The session has spent what it may.
    Budget,
    /// Its time is up.
    Time,
}

/// A fleet at work. Dropping this does not stop it.
#[derive(Debug, Clone)]
pub struct FleetHandle(watch::Receiver<Option<FleetOutcome>>);

/// Where the driver says how it ended.
pub(crate) type FleetOutcomeSender = watch::Sender<Option<FleetOutcome>>;

impl FleetHandle {
    pub(crate) fn new() -> (FleetOutcomeSender, FleetHandle) {
        let (ending, ended) = watch::channel(None);
        (ending, FleetHandle(ended))
    }

    /// Waits for its end.
    pub async fn wait(&mut self) -> FleetOutcome {
        let ended = self.0.wait_for(Option::is_some).await.ok().and_then(|ended| ended.clone());
        // A driver that is gone without a word was left with its session.
        ended.unwrap_or(FleetOutcome::SessionEnded)
    }
}
