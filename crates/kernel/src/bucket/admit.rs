//! Who may start a request now.

use std::time::Duration;

use protocol::At;

use super::gate::{Gate, Why};
use super::tally::Tally;
use super::{Bucket, Holder, Ticket};

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
pub enum Entrance {
    /// Ask now.
    Go(Ticket),
    /// Not yet; look again at this moment.
    Wait(At),
    /// Not before this moment, which is not worth waiting for.
    Park(At),
}

impl Bucket {
    /// Decides whether `holder` may start one request. `most` is how many the server takes at once, if it says so.
    /// Who is told to wait has a place in the line until it is let in, leaves or does not come when it is its turn.
    pub fn admit(&mut self, now: At, holder: &Holder, most: Option<u32>) -> Entrance {
        self.look(now);
        let entrance = match self.gate {
            Gate::Open => self.enter(now, holder, most),
            Gate::Closed(_) => self.probe(now, holder),
        };
        match entrance {
            Entrance::Go(_) => {
                self.line.leave(holder);
                self.line.take(holder);
                self.freed_at = now;
            }
            Entrance::Wait(_) => self.line.join(holder),
            Entrance::Park(_) => self.line.leave(holder),
        }
        entrance
    }

    /// Lets a request through an open gate, if there is room and it is time.
    fn enter(&mut self, now: At, holder: &Holder, most: Option<u32>) -> Entrance {
        let place = self.line.place(holder);
        let size = most.map_or(self.window.size(), |most| most.max(1).min(self.window.size()));
        let room = size.saturating_sub(self.under_way());
        if room == 0 {
            self.window.fill();
            return Entrance::Wait(turn(now, place + 1, POLL));
        }
        self.pace.take_if(|pace| pace.is_idle(now));
        let (mut free_at, mut each) = (self.freed_at, POLL);
        let mut turns = usize::try_from(room).unwrap_or(usize::MAX);
        if let Some(pace) = &mut self.pace {
            let next = pace.next_at();
            (free_at, each) = (free_at.max(next), pace.gap().min(POLL));
            turns = turns.min(pace.due(now));
            if next > now {
                pace.delay(now);
                return Entrance::Wait(turn(next, place, pace.gap()));
            }
        }
        if !self.is_turn(now, place, turns, free_at) {
            return Entrance::Wait(turn(now, place - turns + 1, each));
        }
        if let Some(pace) = &mut self.pace {
            pace.start(now);
        }
        if self.tally.era != self.era {
            self.tally = Tally::begin(self.era, now);
        }
        self.tally.started(now);
        Entrance::Go(Ticket { era: self.era })
    }

    /// Lets one request try a closed gate when its time has come.
    fn probe(&mut self, now: At, holder: &Holder) -> Entrance {
        let place = self.line.place(holder);
        let Gate::Closed(closed) = &self.gate else { return Entrance::Wait(now) };
        if now < closed.until {
            let park = closed.why == Why::Quota || closed.until.since(now) > PATIENCE;
            let wait = turn(closed.until, place, POLL);
            return if park { Entrance::Park(closed.until) } else { Entrance::Wait(wait) };
        }
        let free_at = self.freed_at.max(closed.until);
        if closed.is_probed(now) || !self.is_turn(now, place, 1, free_at) {
            return Entrance::Wait(turn(now, place + 1, POLL));
        }
        if let Gate::Closed(closed) = &mut self.gate {
            closed.probe(now, holder);
        }
        self.era += 1;
        Entrance::Go(Ticket { era: self.era })
    }

    /// Whether somebody at `place` in the line is among the next `turns`. When those before did not come in time, they
    /// are sent away.
    fn is_turn(&mut self, now: At, place: usize, turns: usize, free_at: At) -> bool {
        if place < turns {
            return true;
        }
        let late = now.since(free_at) > GRACE;
        if late {
            self.line.skip(place);
        }
        late
    }
}

/// When somebody looks again before whom so many go first, `each` after another.
fn turn(from: At, before: usize, each: Duration) -> At {
    from.plus(each.saturating_mul(u32::try_from(before).unwrap_or(u32::MAX)).min(SELDOM))
}
