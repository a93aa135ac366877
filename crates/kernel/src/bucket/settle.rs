//! How the outcome of a request changes a bucket.

use std::time::Duration;

use protocol::Timestamp;

use super::gate::{BucketGate, CloseReason, ClosedGate, backoff, reopening_time};
use super::pace::RequestPace;
use super::throttle_stats::ThrottleStats;
use super::{PermitHolder, RateBucket, RequestPermit};

/// How many requests in a row must fail before the bucket closes.
const MAX_FAULTS: u32 = 3;

/// The outcome of a request, as far as it concerns its provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestOutcome {
    /// It was answered.
    Answered,
    /// The provider asked to slow down, and may have stated for how long.
    Throttled(Option<Duration>),
    /// A quota is used up until this time.
    Quota(Timestamp),
    /// The provider sent no answer, or not a valid one.
    Down,
    /// The provider is up but rejected this one request.
    Refused,
    /// It was abandoned before its outcome was known.
    Abandoned,
}

impl RateBucket {
    /// Notes that an answer has started to arrive: if the request was a probe, the bucket opens.
    pub fn note_answering(&mut self, now: Timestamp, permit: RequestPermit) {
        self.refresh(now);
        if self.is_probe(permit) {
            self.open(now);
        }
    }

    /// Ends a request with its outcome. `jitter` is between 0 and 1, and spreads out the next attempts.
    pub fn settle(
        &mut self,
        now: Timestamp,
        holder: &PermitHolder,
        permit: RequestPermit,
        outcome: RequestOutcome,
        jitter: f64,
    ) {
        self.refresh(now);
        self.queue.remove_request(holder);
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
                let stated = after.filter(|after| !after.is_zero()).map(|after| now.plus(after));
                self.settle_throttled(now, permit, stated, jitter);
            }
            RequestOutcome::Quota(until) => self.close(now, permit, CloseReason::Quota, Some(until), jitter),
            RequestOutcome::Down => self.settle_down(now, permit, jitter),
            RequestOutcome::Refused | RequestOutcome::Abandoned => {
                if outcome == RequestOutcome::Refused {
                    self.faults = 0;
                }
                self.free_probe(permit);
            }
        }
    }

    fn settle_throttled(&mut self, now: Timestamp, permit: RequestPermit, stated: Option<Timestamp>, jitter: f64) {
        if permit.era == self.throttle_stats.era {
            self.throttle_stats.count_throttle();
        }
        self.close(now, permit, CloseReason::Throttled, stated, jitter);
    }

    fn settle_down(&mut self, now: Timestamp, permit: RequestPermit, jitter: f64) {
        if permit.era == self.era {
            self.faults = self.faults.saturating_add(1);
        }
        if self.faults >= MAX_FAULTS || self.is_probe(permit) {
            self.close(now, permit, CloseReason::Down, None, jitter);
        }
    }

    /// Closes the gate after a request of the current era. An outcome of an older request does not close an open gate,
    /// unless a quota is used up; it only extends a closing to the time that the provider stated.
    fn close(
        &mut self,
        now: Timestamp,
        permit: RequestPermit,
        why: CloseReason,
        stated: Option<Timestamp>,
        jitter: f64,
    ) {
        let probe = self.is_probe(permit);
        match &mut self.gate {
            BucketGate::Closed(closed) if probe => closed.extend_after_probe(now, why, stated, jitter),
            BucketGate::Closed(closed) => {
                if why == CloseReason::Quota {
                    closed.why = why;
                }
                if let Some(stated) = stated {
                    closed.extend_until(now, stated);
                }
            }
            BucketGate::Open if permit.era != self.era && why != CloseReason::Quota => {}
            BucketGate::Open => {
                let until = match why {
                    CloseReason::Throttled => reopening_time(now, stated, jitter),
                    CloseReason::Quota => stated.unwrap_or(now),
                    CloseReason::Down => backoff(now, 0, jitter),
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
                let passed = self.throttle_stats.accepted_rate(closed.at);
                self.pace = Some(match &self.pace {
                    None => RequestPace::after_first_throttle(now, passed),
                    Some(pace) => pace.after_throttle(now, passed),
                });
                self.window.shrink_after_throttle();
            }
            CloseReason::Quota | CloseReason::Down => self.window.halve(),
        }
        self.faults = 0;
        self.throttle_stats = ThrottleStats::starting_at(self.era, now);
        self.throttle_stats.count_start(now);
    }
}
