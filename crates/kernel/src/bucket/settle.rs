//! How the outcome of a request changes a bucket.

use std::time::Duration;

use protocol::Timestamp;

use super::gate::{BucketGate, CloseReason, ClosedGate, backoff, reopening};
use super::pace::RequestPace;
use super::throttle_stats::ThrottleStats;
use super::{PermitHolder, RateBucket, RequestPermit};

/// Faults in a row after which the bucket closes.
const FAULTS: u32 = 3;

/// The outcome of a request, as far as it concerns its provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestOutcome {
    /// It was answered.
    Answered,
    /// The provider asked to slow down, and may have named a time.
    Throttled(Option<Duration>),
    /// A quota is used up until then.
    Quota(Timestamp),
    /// There was no answer, or no valid one.
    Down,
    /// The provider is up but rejected this one request.
    Refused,
    /// It was abandoned before anything was known.
    Nothing,
}

impl RateBucket {
    /// Notes that an answer has started to arrive: if the request was a probe, the bucket opens.
    pub fn note_answering(&mut self, now: Timestamp, permit: RequestPermit) {
        self.refresh(now);
        if self.is_probe(permit) {
            self.open(now);
        }
    }

    /// Ends a request with its outcome. `dice` is between 0 and 1, and spreads out the next attempts.
    pub fn settle(
        &mut self,
        now: Timestamp,
        holder: &PermitHolder,
        permit: RequestPermit,
        outcome: RequestOutcome,
        dice: f64,
    ) {
        self.refresh(now);
        self.queue.release(holder);
        self.freed_at = now;
        match outcome {
            RequestOutcome::Answered => {
                self.faults = 0;
                self.note_answering(now, permit);
                if permit.era == self.era {
                    self.window.answered();
                }
            }
            RequestOutcome::Throttled(after) => {
                let named = after.filter(|after| !after.is_zero()).map(|after| now.plus(after));
                self.throttled(now, permit, named, dice);
            }
            RequestOutcome::Quota(until) => self.close(now, permit, CloseReason::Quota, Some(until), dice),
            RequestOutcome::Down => self.down(now, permit, dice),
            RequestOutcome::Refused | RequestOutcome::Nothing => {
                if outcome == RequestOutcome::Refused {
                    self.faults = 0;
                }
                self.free_probe(permit);
            }
        }
    }

    fn throttled(&mut self, now: Timestamp, permit: RequestPermit, named: Option<Timestamp>, dice: f64) {
        if permit.era == self.throttle_stats.era {
            self.throttle_stats.throttled();
        }
        self.close(now, permit, CloseReason::Throttled, named, dice);
    }

    fn down(&mut self, now: Timestamp, permit: RequestPermit, dice: f64) {
        if permit.era == self.era {
            self.faults = self.faults.saturating_add(1);
        }
        if self.faults >= FAULTS || self.is_probe(permit) {
            self.close(now, permit, CloseReason::Down, None, dice);
        }
    }

    /// Closes the gate after a request of this era. Requests that were in progress when it closed add nothing new, but
    /// they extend the closing to the time they were given, and a quota always counts.
    fn close(&mut self, now: Timestamp, permit: RequestPermit, why: CloseReason, named: Option<Timestamp>, dice: f64) {
        let probe = self.is_probe(permit);
        match &mut self.gate {
            BucketGate::Closed(closed) if probe => closed.extend_after_probe(now, why, named, dice),
            BucketGate::Closed(closed) => {
                if why == CloseReason::Quota {
                    closed.why = why;
                }
                if let Some(named) = named {
                    closed.lengthen(now, named);
                }
            }
            BucketGate::Open if permit.era != self.era && why != CloseReason::Quota => {}
            BucketGate::Open => {
                let until = match why {
                    CloseReason::Throttled => reopening(now, named, dice),
                    CloseReason::Quota => named.unwrap_or(now),
                    CloseReason::Down => backoff(now, 0, dice),
                };
                self.gate = BucketGate::Closed(ClosedGate::new(now, why, until));
                self.era = self.era.wrapping_add(1);
            }
        }
    }

    fn free_probe(&mut self, permit: RequestPermit) {
        let probe = self.is_probe(permit);
        if let (BucketGate::Closed(closed), true) = (&mut self.gate, probe) {
            closed.probe = None;
        }
    }

    /// Opens the gate, with lower limits than before.
    fn open(&mut self, now: Timestamp) {
        let BucketGate::Closed(closed) = std::mem::take(&mut self.gate) else { return };
        match closed.why {
            CloseReason::Throttled => {
                let passed = self.throttle_stats.rate(closed.at);
                self.pace = Some(match &self.pace {
                    None => RequestPace::first(now, passed),
                    Some(pace) => pace.slower(now, passed),
                });
                self.window.throttled();
            }
            CloseReason::Quota | CloseReason::Down => self.window.halve(),
        }
        self.faults = 0;
        self.throttle_stats = ThrottleStats::begin(self.era, now);
        self.throttle_stats.started(now);
    }
}
