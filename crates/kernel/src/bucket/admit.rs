//! Decides which holder may start a request now.

use std::time::Duration;

use protocol::Timestamp;

use super::gate::{BucketGate, CloseReason, ClosedGate};
use super::queue::PermitQueue;
use super::throttle_stats::ThrottleStats;
use super::{PermitHolder, RateBucket, RequestPermit};

/// The longest wait; beyond it a request is parked.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// How often a waiting holder checks again.
const POLL: Duration = Duration::from_millis(10);

/// The longest time between two checks of a waiting holder.
const MAX_POLL: Duration = Duration::from_millis(100);

/// After this long, a free place may be taken out of turn: the holder whose turn it was may be gone.
const GRACE: Duration = Duration::from_millis(150);

/// A bucket's answer to a holder that wants to start a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdmitDecision {
    /// Start now.
    Go(RequestPermit),
    /// Not yet; check again at this moment.
    Wait(Timestamp),
    /// Not before this moment, which is not worth waiting for.
    Park(Timestamp),
}

impl RateBucket {
    /// Decides whether `holder` may start one request. `most` is how many the server accepts at once, if it says so.
    /// A holder that must wait stays in the queue until it is admitted, leaves, or misses its turn.
    pub fn admit(&mut self, now: Timestamp, holder: &PermitHolder, most: Option<u32>) -> AdmitDecision {
        self.refresh(now);
        let decision = match &mut self.gate {
            BucketGate::Open => self.enter(now, holder, most),
            BucketGate::Closed(closed) => match probe(closed, &mut self.queue, now, holder, self.freed_at) {
                Ok(()) => {
                    self.era = self.era.wrapping_add(1);
                    AdmitDecision::Go(RequestPermit { era: self.era })
                }
                Err(decision) => decision,
            },
        };
        match decision {
            AdmitDecision::Go(_) => {
                self.queue.leave(holder);
                self.queue.take(holder);
                self.freed_at = now;
            }
            AdmitDecision::Wait(_) => self.queue.join(holder),
            AdmitDecision::Park(_) => self.queue.leave(holder),
        }
        decision
    }

    /// Admits a request through an open gate, if the window has room and the pace allows it.
    fn enter(&mut self, now: Timestamp, holder: &PermitHolder, most: Option<u32>) -> AdmitDecision {
        let place = self.queue.position(holder);
        let room = self.room(most);
        if room == 0 {
            self.window.mark_full();
            return AdmitDecision::Wait(next_check_at(now, place + 1, POLL));
        }
        self.pace.take_if(|pace| pace.is_idle(now));
        let (turns, since, each) = match &mut self.pace {
            None => (room, self.freed_at, POLL),
            Some(pace) if pace.next_at() > now => {
                pace.delay(now);
                return AdmitDecision::Wait(next_check_at(pace.next_at(), place, pace.gap()));
            }
            Some(pace) => (room.min(pace.due(now)), self.freed_at.max(pace.next_at()), pace.gap().min(POLL)),
        };
        if !is_turn(&mut self.queue, place, turns, now.since(since)) {
            return AdmitDecision::Wait(next_check_at(now, place - turns + 1, each));
        }
        self.start(now)
    }

    /// How many more requests may be in progress.
    fn room(&self, most: Option<u32>) -> usize {
        let size = most.map_or(self.window.size(), |most| self.window.size_within(most));
        usize::try_from(size.saturating_sub(self.requests_in_progress())).unwrap_or(usize::MAX)
    }

    fn start(&mut self, now: Timestamp) -> AdmitDecision {
        if let Some(pace) = &mut self.pace {
            pace.start(now);
        }
        if self.throttle_stats.era != self.era {
            self.throttle_stats = ThrottleStats::begin(self.era, now);
        }
        self.throttle_stats.started(now);
        AdmitDecision::Go(RequestPermit { era: self.era })
    }
}

/// Admits one request as a probe of a closed gate, once it is due.
fn probe(
    closed: &mut ClosedGate,
    queue: &mut PermitQueue,
    now: Timestamp,
    holder: &PermitHolder,
    freed_at: Timestamp,
) -> Result<(), AdmitDecision> {
    let place = queue.position(holder);
    let wait = closed.until.since(now);
    if !wait.is_zero() && (closed.why == CloseReason::Quota || wait > MAX_WAIT) {
        return Err(AdmitDecision::Park(closed.until));
    }
    if !wait.is_zero() {
        return Err(AdmitDecision::Wait(next_check_at(closed.until, place, POLL)));
    }
    if closed.is_probed(now) || !is_turn(queue, place, 1, now.since(freed_at.max(closed.until))) {
        return Err(AdmitDecision::Wait(next_check_at(now, place + 1, POLL)));
    }
    closed.probe(now, holder);
    Ok(())
}

/// Whether the holder at `place` in the queue is among the next `turns`. Holders before it that missed their turn for
/// too long are removed.
fn is_turn(queue: &mut PermitQueue, place: usize, turns: usize, free_for: Duration) -> bool {
    let absent = place >= turns && free_for > GRACE;
    if absent {
        queue.skip(place);
    }
    absent || place < turns
}

/// When a holder checks again that has `before` others ahead of it, one every `each`.
fn next_check_at(from: Timestamp, before: usize, each: Duration) -> Timestamp {
    from.plus(each.saturating_mul(u32::try_from(before).unwrap_or(u32::MAX)).min(MAX_POLL))
}
