//! A summary of a session's state, for callers that wait for it to change.

use std::sync::Arc;

use kernel::Parking;
use protocol::TaskState;
use protocol::api::{ParkingView, PhaseFacts, RunPhase, StatusView};
use store::StoreError;

/// A summary of a session's state.
#[derive(Debug, Clone, Default)]
pub struct SessionStatus {
    /// The last event that is included.
    pub seq: u64,
    /// Whether nothing is queued, running or parked, and no fleet is at work.
    pub quiet: bool,
    /// The root's state.
    pub root: Option<TaskState>,
    /// How many tasks below the root are queued, running or parked.
    pub background: usize,
    /// How many calls wait for the user's decision.
    pub asks: usize,
    /// Whether autopilot is about to tell the root to continue.
    pub continuation_due: bool,
    /// Whether this process drives a fleet.
    pub fleet: bool,
    /// Why the latest fleet cannot continue in this process.
    pub fleet_failure: Option<Arc<str>>,
    /// Why the whole session waits: every agent that is not at rest is parked or waits for a parked one.
    pub parked: Option<Parking>,
    /// Why the session is paused.
    pub paused: Option<Arc<StoreError>>,
}

impl SessionStatus {
    /// The status in the API.
    pub fn view(&self) -> StatusView {
        let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        StatusView {
            seq: self.seq,
            quiet: self.quiet,
            root: self.root.clone(),
            background: count(self.background),
            asks: count(self.asks),
            continuation_due: self.continuation_due,
            fleet: self.fleet,
            fleet_failure: self.fleet_failure.as_deref().map(str::to_owned),
            parked: self.parking_view(),
            paused: self.paused.as_ref().map(ToString::to_string),
        }
    }

    /// What the session does now.
    pub fn phase(&self) -> RunPhase {
        let facts = PhaseFacts {
            is_paused: self.paused.is_some(),
            continuation_due: self.continuation_due,
            parked: self.parking_view(),
            has_fleet: self.fleet,
            root: self.root.as_ref(),
            has_background: self.background > 0,
        };
        facts.phase()
    }

    fn parking_view(&self) -> Option<ParkingView> {
        self.parked.map(|Parking { until, why }| ParkingView { until_at: until, why })
    }

    /// Whether watchers are notified of this status after `published`. While the root is at rest, a status follows
    /// every event: a client that has an event waits for the status with its number, to know that no event follows.
    pub(crate) fn must_notify_after(&self, published: &SessionStatus) -> bool {
        let is_same = self.quiet == published.quiet
            && self.root == published.root
            && self.background == published.background
            && self.asks == published.asks
            && self.continuation_due == published.continuation_due
            && self.fleet == published.fleet
            && self.fleet_failure == published.fleet_failure
            && self.parked == published.parked
            && self.paused.is_some() == published.paused.is_some();
        !is_same || (self.seq != published.seq && self.root_is_at_rest())
    }

    /// Whether the root is idle, finished or interrupted.
    pub fn root_is_at_rest(&self) -> bool {
        self.root.as_ref().is_some_and(TaskState::is_at_rest)
    }
}
