//! The countdown to the next attempt of a model request.

use std::time::{Duration, Instant};

use protocol::RetryPlan;

use super::event_text::describe_retry;

/// The next attempt and its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Countdown {
    retry: RetryPlan,
    until: Instant,
}

impl Countdown {
    /// The countdown to an attempt announced now.
    pub fn new(retry: RetryPlan, now: Instant) -> Countdown {
        Countdown { retry, until: now + Duration::from_millis(retry.in_millis) }
    }

    /// The number of the attempt and the time left.
    pub fn describe(self, now: Instant) -> String {
        let left = self.until.saturating_duration_since(now);
        // Whole seconds, since it is redrawn about every second.
        let in_millis = u64::try_from(left.as_millis()).unwrap_or(u64::MAX).div_ceil(1_000) * 1_000;
        describe_retry(RetryPlan { in_millis, ..self.retry })
    }

    /// Whether the countdown is over.
    pub fn is_over(self, now: Instant) -> bool {
        now >= self.until
    }
}
