//! The state of a bucket.

use std::time::Duration;

use protocol::Timestamp;
use serde::{Deserialize, Serialize};

use super::PermitHolder;
use super::gate::BucketGate;
use super::pace::RequestPace;
use super::queue::PermitQueue;
use super::throttle_stats::ThrottleStats;
use super::window::RequestWindow;

/// An open bucket that is unused for this long is reset: its measurements are out of date.
const IDLE_RESET: Duration = Duration::from_secs(600);

/// A clock that is behind the last known time by more than this was set back.
const MIN_CLOCK_SETBACK: Duration = Duration::from_secs(5);

/// The state that all users of one account and model share.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RateBucket {
    pub(super) gate: BucketGate,
    /// Increases when the bucket closes or a probe starts, so that outcomes of earlier requests are known to be old.
    pub(super) era: u64,
    pub(super) window: RequestWindow,
    pub(super) pace: Option<RequestPace>,
    pub(super) throttle_stats: ThrottleStats,
    /// How many requests in a row failed because the provider was down.
    pub(super) faults: u32,
    pub(super) queue: PermitQueue,
    /// When a request last started or ended; the next holder in the queue has its turn from then on.
    pub(super) freed_at: Timestamp,
    /// The latest time at which the bucket was used.
    seen_at: Timestamp,
}

/// The right to one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestPermit {
    /// The bucket's era when the request started.
    pub(super) era: u64,
}

impl RateBucket {
    /// How many requests are in progress.
    pub fn requests_in_progress(&self) -> u32 {
        self.queue.requests_in_progress()
    }

    /// How many requests may be in progress.
    pub fn window(&self) -> u32 {
        self.window.size()
    }

    /// The time until which the bucket is closed; none if it is open.
    pub fn closed_until(&self) -> Option<Timestamp> {
        match &self.gate {
            BucketGate::Open => None,
            BucketGate::Closed(closed) => Some(closed.until),
        }
    }

    /// Whether this request is the one that tests a closed bucket.
    pub fn is_probe(&self, permit: RequestPermit) -> bool {
        matches!(&self.gate, BucketGate::Closed(closed) if closed.probe.is_some()) && permit.era == self.era
    }

    /// Whether this holder is in the queue.
    pub fn is_waiting(&self, holder: &PermitHolder) -> bool {
        self.queue.is_waiting(holder)
    }

    /// All holders that have a request in progress or wait to start one.
    pub fn holders(&self) -> impl Iterator<Item = &PermitHolder> {
        self.queue.holders()
    }

    /// Removes a dead holder with all its requests.
    pub fn forget(&mut self, now: Timestamp, holder: &PermitHolder) {
        self.queue.forget(holder);
        self.freed_at = now;
        if let BucketGate::Closed(closed) = &mut self.gate {
            closed.probe.take_if(|probe| probe.holder == *holder);
        }
    }

    /// Removes a holder from the queue.
    pub fn leave(&mut self, holder: &PermitHolder) {
        self.queue.leave(holder);
    }

    /// Whether the clock was set back since the bucket was last used, so that its times must be adjusted.
    pub fn was_clock_set_back(&self, now: Timestamp) -> bool {
        self.seen_at.since(now) > MIN_CLOCK_SETBACK
    }

    /// Adjusts to the current time: drops what is too old, and shifts times back if the clock was set back.
    pub(super) fn refresh(&mut self, now: Timestamp) {
        let open = matches!(self.gate, BucketGate::Open);
        if open && self.queue.is_empty() && now.since(self.seen_at) > IDLE_RESET {
            *self = RateBucket { era: self.era.wrapping_add(1), ..RateBucket::default() };
        }
        if self.was_clock_set_back(now) {
            self.gate.shift_times_back(self.seen_at.since(now));
            if let Some(pace) = &mut self.pace {
                pace.restart_at(now);
            }
            self.throttle_stats = ThrottleStats::starting_at(self.throttle_stats.era, now);
            self.freed_at = now;
            self.seen_at = now;
        }
        self.seen_at = self.seen_at.max(now);
    }
}
