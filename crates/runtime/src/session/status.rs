//! A session's state in brief, for whoever waits for it to change.

use std::sync::Arc;

use kernel::Parking;
use protocol::TaskState;
use protocol::api::StatusView;
use store::StoreError;

/// A session's state in brief.
#[derive(Debug, Clone, Default)]
pub struct SessionStatus {
    /// The last event that it follows from.
    pub seq: u64,
    /// Whether nothing is queued, running or parked.
    pub quiet: bool,
    /// The root's state.
    pub root: Option<TaskState>,
    /// How many tasks below the root are queued, running or parked.
    pub background: usize,
    /// How many calls wait for a person's decision.
    pub asks: usize,
    /// Whether the root, on autopilot, is about to be told to go on.
    pub continuation_due: bool,
    /// What the whole session waits for, when every agent that is not at rest is parked or waits for one that is.
    pub parked: Option<Parking>,
    /// Why the session is paused.
    pub paused: Option<Arc<StoreError>>,
}

impl SessionStatus {
    /// As the API tells it.
    pub(crate) fn view(&self) -> StatusView {
        let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        StatusView {
            seq: self.seq,
            quiet: self.quiet,
            root: self.root.clone(),
            background: count(self.background),
            asks: count(self.asks),
            continuation_due: self.continuation_due,
            paused: self.paused.as_ref().map(ToString::to_string),
        }
    }

    /// Whether those who watch are told of this status after `shown`. While the root does not work, every event is
    /// followed by a status: a client that has the event waits for the status of its number to know that no more comes.
    pub(crate) fn is_news_after(&self, shown: &SessionStatus) -> bool {
        let is_same = self.quiet == shown.quiet
            && self.root == shown.root
            && self.background == shown.background
            && self.asks == shown.asks
            && self.continuation_due == shown.continuation_due
            && self.parked == shown.parked
            && self.paused.is_some() == shown.paused.is_some();
        !is_same || (self.seq != shown.seq && self.root_is_at_rest())
    }

    /// Whether the root rests or has stopped for another reason than waiting for a quota.
    pub fn root_is_at_rest(&self) -> bool {
        match &self.root {
            Some(TaskState::Idle | TaskState::Finished { .. } | TaskState::Interrupted) => true,
            Some(TaskState::Queued | TaskState::Running | TaskState::Parked { .. }) | None => false,
        }
    }
}
