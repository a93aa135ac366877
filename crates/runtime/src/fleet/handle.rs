//! A fleet that this process drives or has driven, for those who wait for it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use protocol::{FleetEnd, MergeSummary, TodoId};
use tokio::sync::watch;

/// A fleet that this process drives, or has driven. Dropping this does not stop it, and holding it keeps nothing of the
/// session open.
#[derive(Debug, Clone)]
pub struct FleetHandle {
    /// Its outcome, once it has ended.
    pub outcome: watch::Receiver<Option<FleetOutcome>>,
    /// Why todos that earlier fleets did are done again.
    pub redo_reasons: RedoReasons,
    /// How the work of isolated workers was merged, once it is.
    pub merged: watch::Receiver<Option<MergeSummary>>,
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

/// Why todos that were done before are done again, until reported.
#[derive(Debug, Clone, Default)]
pub struct RedoReasons(Arc<Mutex<BTreeMap<TodoId, String>>>);

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

    /// Why a todo that an earlier fleet did is done again; returned only once.
    pub fn redo_reason(&self, todo: &TodoId) -> Option<String> {
        self.redo_reasons.take(todo)
    }

    /// How the work of isolated workers was merged, once it is.
    pub fn merge_summary(&self) -> Option<MergeSummary> {
        self.merged.borrow().clone()
    }
}

impl RedoReasons {
    /// Notes why a todo is done again.
    pub fn insert(&self, todo: TodoId, reason: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(todo, reason);
    }

    fn take(&self, todo: &TodoId) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(todo)
    }
}
