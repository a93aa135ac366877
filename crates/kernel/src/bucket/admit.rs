//! Who may start a request now.

use std::time::Duration;

use protocol::Timestamp;

use super::gate::{BucketGate, CloseReason, ClosedGate};
use super::queue::PermitQueue;
use super::throttle_stats::ThrottleStats;
use super::{PermitHolder, RateBucket, RequestPermit};

/// The longest wait that somebody stays for.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often somebody looks again who waits for what others do.
const POLL: Duration = Duration::from_millis(10);

/// The least often that anybody in the line looks again.
const SELDOM: Duration = Duration::from_millis(100);

/// A place that nobody took for so long is anybody's: whose turn it was may be gone.
const GRACE: Duration = Duration::from_millis(150);

/// What a bucket says to somebody who wants to ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdmitDecision {
    /// Ask now.
    Go(RequestPermit),
    /// Not yet; look again at this moment.
    Wait(Timestamp),
    /// Not before this moment, which is not worth waiting for.
    Park(Timestamp),
}

impl RateBucket {
    /// Decides whether `holder` may start one request. `most` is how many the server takes at once, if it says so.
    /// Who is told to wait has a place in the line until it is let in, leaves or does not come when it is its turn.
    pub fn admit(&mut self, now: Timestamp, holder: &PermitHolder, most: Option<u32>) -> AdmitDecision {
        self.refresh(now);
        let entrance = match &mut self.gate {
            BucketGate::Open => self.enter(now, holder, most),
            BucketGate::Closed(closed) => match probe(closed, &mut self.queue, now, holder, self.freed_at) {
                Ok(()) => {
                    self.era = self.era.wrapping_add(1);
                    AdmitDecision::Go(RequestPermit { era: self.era })
                }
                Err(entrance) => entrance,
            },
        };
        match entrance {
            AdmitDecision::Go(_) => {
                self.queue.leave(holder);
                self.queue.take(holder);
                self.freed_at = now;
            }
            AdmitDecision::Wait(_) => self.queue.join(holder),
            AdmitDecision::Park(_) => self.queue.leave(holder),
        }
        entrance
    }

    /// Lets a request through an open gate, if there is room and it is time.
    fn enter(&mut self, now: Timestamp, holder: &PermitHolder, most: Option<u32>) -> AdmitDecision {
        let place = self.queue.position(holder);
        let room = self.room(most);
        if room == 0 {
            self.window.fill();
            return AdmitDecision::Wait(turn(now, place + 1, POLL));
        }
        self.pace.take_if(|pace| pace.is_idle(now));
        let (turns, since, each) = match &mut self.pace {
            None => (room, self.freed_at, POLL),
            Some(pace) if pace.next_at() > now => {
                pace.delay(now);
                return AdmitDecision::Wait(turn(pace.next_at(), place, pace.gap()));
            }
            Some(pace) => (room.min(pace.due(now)), self.freed_at.max(pace.next_at()), pace.gap().min(POLL)),
        };
        if !is_turn(&mut self.queue, place, turns, now.since(since)) {
            return AdmitDecision::Wait(turn(now, place - turns + 1, each));
        }
        self.start(now)
    }

    /// How many more may be under way.
    fn room(&self, most: Option<u32>) -> usize {
        let size = most.map_or(self.window.size(), |most| self.window.size_within(most));
        usize::try_from(size.saturating_sub(self.under_way())).unwrap_or(usize::MAX)
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

/// Lets one request try a closed gate when its time has come.
fn probe(
    closed: &mut ClosedGate,
    line: &mut PermitQueue,
    now: Timestamp,
    holder: &PermitHolder,
    freed_at: Timestamp,
) -> Result<(), AdmitDecision> {
    let place = line.position(holder);
    let wait = closed.until.since(now);
    if !wait.is_zero() && (closed.why == CloseReason::Quota || wait > PATIENCE) {
        return Err(AdmitDecision::Park(closed.until));
    }
    if !wait.is_zero() {
        return Err(AdmitDecision::Wait(turn(closed.until, place, POLL)));
    }
    if closed.is_probed(now) || !is_turn(line, place, 1, now.since(freed_at.max(closed.until))) {
        return Err(AdmitDecision::Wait(turn(now, place + 1, POLL)));
    }
    closed.probe(now, holder);
    Ok(())
}

/// Whether somebody at `place` in the line is among the next `turns`. When those before did not come for too long, they
/// are sent away.
fn is_turn(line: &mut PermitQueue, place: usize, turns: usize, free_for: Duration) -> bool {
    let absent = place >= turns && free_for > GRACE;
    if absent {
        line.skip(place);
    }
    absent || place < turns
}

/// When somebody looks again before whom so many go first, `each` after another.
fn turn(from: Timestamp, before: usize, each: Duration) -> Timestamp {
    from.plus(each.saturating_mul(u32::try_from(before).unwrap_or(u32::MAX)).min(SELDOM))
}
