//! The time until a model is asked again.

use std::time::{Duration, Instant};

use protocol::RetryPlan;

use super::event_text::describe_retry;

/// The next attempt, and when it comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Countdown {
    retry: RetryPlan,
    until: Instant,
}

impl Countdown {
    /// The countdown to an attempt that was announced now.
    pub(crate) fn new(retry: RetryPlan, now: Instant) -> Countdown {
        Countdown { retry, until: now + Duration::from_millis(retry.in_millis) }
    }

    /// Which attempt it is, and how long it is until then.
    pub(crate) fn describe(self, now: Instant) -> String {
        let left = self.until.saturating_duration_since(now);
        // Whole seconds: it is looked at every second or so.
        let in_millis = u64::try_from(left.as_millis()).unwrap_or(u64::MAX).div_ceil(1_000) * 1_000;
        describe_retry(RetryPlan { in_millis, ..self.retry })
    }

    /// Whether there is nothing left to count.
    pub(super) fn is_over(self, now: Instant) -> bool {
        now >= self.until
    }
}
