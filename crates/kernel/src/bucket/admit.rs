//! Decides which process may start a request now.

use std::time::Duration;

use protocol::Timestamp;

use super::gate::{BucketGate, CloseReason, ClosedGate};
use super::queue::PermitQueue;
use super::throttle_stats::ThrottleStats;
use super::{PermitHolder, RateBucket, RequestPermit};

/// The longest wait. A task whose request would have to wait longer is parked.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// How much later a waiting holder checks again for each one ahead of it.
const POLL_PER_PLACE: Duration = Duration::from_millis(10);

/// The longest time between two checks of a waiting holder.
const MAX_POLL: Duration = Duration::from_millis(100);

/// If no request started or ended for this long, the next holder in the queue may start one: the holder whose turn it
/// was may be gone.
const MISSED_TURN_AFTER: Duration = Duration::from_millis(150);

/// A bucket's answer to a holder that wants to start a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdmitDecision {
    /// Start now.
    Go(RequestPermit),
    /// Not yet; check again at this time.
    Wait(Timestamp),
    /// Not before this time, which is too far off to wait for: park the task.
    Park(Timestamp),
}

impl RateBucket {
    /// Decides whether `holder` may start one request. `server_limit` is how many requests the server accepts at once,
    /// if known. A holder that must wait stays in the queue until it is admitted, leaves or misses its turn.
    pub fn admit(&mut self, now: Timestamp, holder: &PermitHolder, server_limit: Option<u32>) -> AdmitDecision {
        self.refresh(now);
        let decision = match &mut self.gate {
            BucketGate::Open => self.admit_if_open(now, holder, server_limit),
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
                self.queue.add_request(holder);
                self.freed_at = now;
            }
            AdmitDecision::Wait(_) => self.queue.join(holder),
            AdmitDecision::Park(_) => self.queue.leave(holder),
        }
        decision
    }

    /// Admits a request through an open gate, if the window has room and the pace allows it.
    fn admit_if_open(&mut self, now: Timestamp, holder: &PermitHolder, server_limit: Option<u32>) -> AdmitDecision {
        let place = self.queue.position(holder);
        let room = self.free_places(server_limit);
        if room == 0 {
            self.window.mark_full();
            return AdmitDecision::Wait(next_check_at(now, place + 1, POLL_PER_PLACE));
        }
        self.pace.take_if(|pace| pace.is_idle(now));
        let (free_places, since, interval) = match &mut self.pace {
            None => (room, self.freed_at, POLL_PER_PLACE),
            Some(pace) if pace.next_at() > now => {
                pace.note_delay(now);
                return AdmitDecision::Wait(next_check_at(pace.next_at(), place, pace.gap()));
            }
            Some(pace) => {
                (room.min(pace.starts_due(now)), self.freed_at.max(pace.next_at()), pace.gap().min(POLL_PER_PLACE))
            }
        };
        if !take_turn(&mut self.queue, place, free_places, now.since(since)) {
            return AdmitDecision::Wait(next_check_at(now, place - free_places + 1, interval));
        }
        self.start_request(now)
    }

    /// How many more requests may be in progress.
    fn free_places(&self, server_limit: Option<u32>) -> usize {
        let size = server_limit.map_or(self.window.size(), |server_limit| self.window.size_for_server(server_limit));
        usize::try_from(size.saturating_sub(self.requests_in_progress())).unwrap_or(usize::MAX)
    }

    fn start_request(&mut self, now: Timestamp) -> AdmitDecision {
        if let Some(pace) = &mut self.pace {
            pace.note_start(now);
        }
        if self.throttle_stats.era != self.era {
            self.throttle_stats = ThrottleStats::starting_at(self.era, now);
        }
        self.throttle_stats.count_start(now);
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
        return Err(AdmitDecision::Wait(next_check_at(closed.until, place, POLL_PER_PLACE)));
    }
    if closed.is_probed(now) || !take_turn(queue, place, 1, now.since(freed_at.max(closed.until))) {
        return Err(AdmitDecision::Wait(next_check_at(now, place + 1, POLL_PER_PLACE)));
    }
    closed.probe(now, holder);
    Ok(())
}

/// Whether the holder at `place` in the queue may take one of the `free_places`. If the holders before it missed their
/// turn for too long, removes them from the queue and lets this one start.
fn take_turn(queue: &mut PermitQueue, place: usize, free_places: usize, free_for: Duration) -> bool {
    let others_missed_turn = place >= free_places && free_for > MISSED_TURN_AFTER;
    if others_missed_turn {
        queue.remove_before(place);
    }
    others_missed_turn || place < free_places
}

/// When a holder with `ahead` others before it should check again, if one of them is admitted per `interval`.
fn next_check_at(from: Timestamp, ahead: usize, interval: Duration) -> Timestamp {
    from.plus(interval.saturating_mul(u32::try_from(ahead).unwrap_or(u32::MAX)).min(MAX_POLL))
}
