//! The deadline of a session's runs.

use std::time::Duration;

use tokio::time::Instant;

/// How long the last turn may take.
const LAST_TURN_TIME: Duration = Duration::from_secs(60);

/// How long a run whose time is up waits for the governor before its last turn.
const LAST_TURN_WAIT: Duration = Duration::from_secs(2);

/// The time until which the runs of a session may work.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline(Option<Instant>);

impl Deadline {
    /// A deadline `time` from now; no deadline without a time.
    pub(crate) fn after(time: Option<Duration>) -> Deadline {
        Deadline(time.and_then(|time| Instant::now().checked_add(time)))
    }

    /// A deadline that leaves time for a last turn.
    pub(super) fn for_last_turn() -> Deadline {
        Deadline::after(Some(LAST_TURN_TIME))
    }

    /// A deadline that leaves time to be admitted if the provider is not busy.
    pub(super) fn brief() -> Deadline {
        Deadline::after(Some(LAST_TURN_WAIT))
    }

    /// The time that is left; no limit when absent.
    pub(crate) fn remaining(self) -> Option<Duration> {
        self.0.map(|end| end.saturating_duration_since(Instant::now()))
    }

    /// Whether the deadline has passed.
    pub(crate) fn is_over(self) -> bool {
        self.0.is_some_and(|end| end <= Instant::now())
    }

    /// The result of `work`, unless the deadline comes first.
    pub(super) async fn limit<T>(self, work: impl Future<Output = T>) -> Option<T> {
        match self.0 {
            Some(end) => tokio::time::timeout_at(end, work).await.ok(),
            None => Some(work.await),
        }
    }
}
