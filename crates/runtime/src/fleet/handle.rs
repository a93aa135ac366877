//! A fleet that this process drives or has driven, for the session that waits for it. Clients see a fleet through the
//! session's events and status.

use protocol::{FleetEnd, FleetStopReason};
use tokio::sync::watch;

/// A fleet that this process drives, or has driven. Dropping this does not stop it, and holding it keeps nothing of the
/// session open.
#[derive(Debug, Clone)]
pub struct FleetHandle {
    /// Its outcome, once it has ended.
    pub outcome: watch::Receiver<Option<FleetOutcome>>,
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

impl FleetOutcome {
    /// Why the fleet was stopped, unless the user stopped it.
    pub fn stop_reason(&self) -> Option<FleetStopReason> {
        match self {
            FleetOutcome::Halted(FleetLimit::Budget) => Some(FleetStopReason::Budget),
            FleetOutcome::Halted(FleetLimit::Time) => Some(FleetStopReason::Time),
            FleetOutcome::Unplanned(problem) => Some(FleetStopReason::Unplanned { problem: problem.clone() }),
            FleetOutcome::Ended(_) | FleetOutcome::Broken(_) | FleetOutcome::SessionEnded => None,
        }
    }
}

impl FleetHandle {
    /// Waits for the end of the fleet.
    pub async fn wait(&mut self) -> FleetOutcome {
        let outcome = self.outcome.wait_for(Option::is_some).await.ok().and_then(|outcome| outcome.clone());
        // A fleet that was dropped without an outcome ended with its session.
        outcome.unwrap_or(FleetOutcome::SessionEnded)
    }

    /// The outcome, if the fleet has ended.
    pub fn outcome(&self) -> Option<FleetOutcome> {
        self.outcome.borrow().clone()
    }
}
