//! How many recent requests were started and not throttled, from which a pace is learnt.

use std::time::Duration;

use protocol::Timestamp;
use serde::{Deserialize, Serialize};

/// The length of one span. The last two spans are counted.
const SPAN_LENGTH: Duration = Duration::from_secs(1);

/// Starts and throttles of an era's last seconds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ThrottleStats {
    pub(super) era: u64,
    older: ThrottleSpan,
    newer: ThrottleSpan,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct ThrottleSpan {
    began_at: Timestamp,
    started: u32,
    throttled: u32,
}

impl ThrottleStats {
    pub(super) fn starting_at(era: u64, now: Timestamp) -> ThrottleStats {
        let span = ThrottleSpan { began_at: now, ..ThrottleSpan::default() };
        ThrottleStats { era, older: span.clone(), newer: span }
    }

    pub(super) fn count_start(&mut self, now: Timestamp) {
        if now.since(self.newer.began_at) >= SPAN_LENGTH {
            let began_at = now;
            self.older = std::mem::replace(&mut self.newer, ThrottleSpan { began_at, ..ThrottleSpan::default() });
        }
        self.newer.started = self.newer.started.saturating_add(1);
    }

    pub(super) fn count_throttle(&mut self) {
        self.newer.throttled = self.newer.throttled.saturating_add(1);
    }

    /// How many requests were accepted per thousand seconds, up to the time of closing.
    pub(super) fn accepted_rate(&self, closed_at: Timestamp) -> u64 {
        // The older span does not count when there was a pause after it.
        let is_contiguous = self.newer.began_at.since(self.older.began_at) < 2 * SPAN_LENGTH;
        let older = if is_contiguous {
            self.older.clone()
        } else {
            ThrottleSpan { began_at: self.newer.began_at, ..ThrottleSpan::default() }
        };
        let span = closed_at.since(older.began_at).max(SPAN_LENGTH);
        let started = u64::from(older.started) + u64::from(self.newer.started);
        let accepted = started.saturating_sub(u64::from(older.throttled) + u64::from(self.newer.throttled));
        accepted.saturating_mul(1_000_000) / u64::try_from(span.as_millis()).unwrap_or(u64::MAX).max(1)
    }
}
