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

/// An open bucket that nobody used for so long is as new: what was learnt then says little of today.
const MEMORY: Duration = Duration::from_secs(600);

/// A clock that shows less than before by more than this was set back.
const SET_BACK: Duration = Duration::from_secs(5);

/// What everybody who uses one account and model shares.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RateBucket {
    pub(super) gate: BucketGate,
    /// Counts closings and probes; a request of an older era says nothing of this one.
    pub(super) era: u64,
    pub(super) window: RequestWindow,
    pub(super) pace: Option<RequestPace>,
    pub(super) throttle_stats: ThrottleStats,
    /// Faults in a row, without an answer between them.
    pub(super) faults: u32,
    pub(super) queue: PermitQueue,
    /// When a place last came free.
    pub(super) freed_at: Timestamp,
    seen_at: Timestamp,
}

/// The right to one request, as the bucket knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestPermit {
    /// The era it started in.
    pub(super) era: u64,
}

impl RateBucket {
    /// How many requests are under way.
    pub fn under_way(&self) -> u32 {
        self.queue.under_way()
    }

    /// How many may be under way.
    pub fn window(&self) -> u32 {
        self.window.size()
    }

    /// Until when nobody may ask, if it is closed.
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

    /// Whether this holder has a place in the line.
    pub fn is_waiting(&self, holder: &PermitHolder) -> bool {
        self.queue.is_waiting(holder)
    }

    /// Everybody who holds a request or waits for one.
    pub fn holders(&self) -> impl Iterator<Item = &PermitHolder> {
        self.queue.holders()
    }

    /// Drops a holder that died, with all it held.
    pub fn forget(&mut self, now: Timestamp, holder: &PermitHolder) {
        self.queue.forget(holder);
        self.freed_at = now;
        if let BucketGate::Closed(closed) = &mut self.gate {
            closed.probe.take_if(|probe| probe.holder == *holder);
        }
    }

    /// Gives up a holder's place in the line.
    pub fn leave(&mut self, holder: &PermitHolder) {
        self.queue.leave(holder);
    }

    /// Whether the clock was set back since the bucket was last used: it must be changed to take that in.
    pub fn is_ahead(&self, now: Timestamp) -> bool {
        self.seen_at.since(now) > SET_BACK
    }

    /// Takes in the time: what is too old is forgotten, and a clock that was set back keeps nobody out for longer.
    pub(super) fn refresh(&mut self, now: Timestamp) {
        let open = matches!(self.gate, BucketGate::Open);
        if open && self.queue.is_empty() && now.since(self.seen_at) > MEMORY {
            *self = RateBucket { era: self.era.wrapping_add(1), ..RateBucket::default() };
        }
        if self.is_ahead(now) {
            self.gate.set_back(self.seen_at.since(now));
            if let Some(pace) = &mut self.pace {
                pace.set_back(now);
            }
            self.throttle_stats = ThrottleStats::begin(self.throttle_stats.era, now);
            self.freed_at = now;
            self.seen_at = now;
        }
        self.seen_at = self.seen_at.max(now);
    }
}
