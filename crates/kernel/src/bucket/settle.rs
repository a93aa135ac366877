//! What becomes of a bucket when a request is back.

use std::time::Duration;

use protocol::At;

use super::gate::{Closed, Gate, Why, backoff, reopening};
use super::pace::Pace;
use super::tally::Tally;
use super::{Bucket, Holder, Permit};

/// Faults in a row after which nobody else tries.
const FAULTS: u32 = 3;

/// What a request has to say of its provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum News {
    /// It was answered.
    Answered,
    /// The provider asked to slow down, and may have named a time.
    Throttled(Option<Duration>),
    /// A quota is used up until then.
    Quota(At),
    /// Nothing came, or nothing that made sense.
    Down,
    /// The provider is there and wants nothing of this one request.
    Refused,
    /// It was given up before anything was known.
    Nothing,
}

impl Bucket {
    /// Notes that a request is being answered: a provider that was closed is open.
    pub fn begun(&mut self, now: At, permit: Permit) {
        self.look(now);
        if self.is_probe(permit) {
            self.open(now);
        }
    }

    /// Takes a request back, with its news. `dice` is between 0 and 1, and spreads those who wait.
    pub fn settle(&mut self, now: At, holder: &Holder, permit: Permit, news: News, dice: f64) {
        self.look(now);
        self.line.release(holder);
        self.freed_at = now;
        match news {
            News::Answered => {
                self.faults = 0;
                self.begun(now, permit);
                if permit.era == self.era {
                    self.window.answered();
                }
            }
            News::Throttled(after) => {
                let named = after.filter(|after| !after.is_zero()).map(|after| now.plus(after));
                self.throttled(now, permit, named, dice);
            }
            News::Quota(until) => self.close(now, permit, Why::Quota, Some(until), dice),
            News::Down => self.down(now, permit, dice),
            News::Refused | News::Nothing => {
                if news == News::Refused {
                    self.faults = 0;
                }
                self.free_probe(permit);
            }
        }
    }

    fn throttled(&mut self, now: At, permit: Permit, named: Option<At>, dice: f64) {
        if permit.era == self.tally.era {
            self.tally.throttled();
        }
        self.close(now, permit, Why::Throttled, named, dice);
    }

    fn down(&mut self, now: At, permit: Permit, dice: f64) {
        if permit.era == self.era {
            self.faults = self.faults.saturating_add(1);
        }
        if self.faults >= FAULTS || self.is_probe(permit) {
            self.close(now, permit, Why::Down, None, dice);
        }
    }

    /// Closes the gate on the word of a request of this era. Those that were under way when it closed say nothing new:
    /// they lengthen it to the time that they were told themselves, and a quota is a quota whoever meets it.
    fn close(&mut self, now: At, permit: Permit, why: Why, named: Option<At>, dice: f64) {
        let probe = self.is_probe(permit);
        match &mut self.gate {
            Gate::Closed(closed) if probe => closed.again(now, why, named, dice),
            Gate::Closed(closed) => {
                if why == Why::Quota {
                    closed.why = why;
                }
                if let Some(named) = named {
                    closed.lengthen(now, named);
                }
            }
            Gate::Open if permit.era != self.era && why != Why::Quota => {}
            Gate::Open => {
                let until = match why {
                    Why::Throttled => reopening(now, named, dice),
                    Why::Quota => named.unwrap_or(now),
                    Why::Down => backoff(now, 0, dice),
                };
                self.gate = Gate::Closed(Closed::new(now, why, until));
                self.era = self.era.wrapping_add(1);
            }
        }
    }

    fn free_probe(&mut self, permit: Permit) {
        let probe = self.is_probe(permit);
        if let (Gate::Closed(closed), true) = (&mut self.gate, probe) {
            closed.probe = None;
        }
    }

    /// Opens the gate, more carefully than before.
    fn open(&mut self, now: At) {
        let Gate::Closed(closed) = std::mem::take(&mut self.gate) else { return };
        match closed.why {
            Why::Throttled => {
                let passed = self.tally.rate(closed.at);
                self.pace = Some(match &self.pace {
                    None => Pace::first(now, passed),
                    Some(pace) => pace.slower(now, passed),
                });
                self.window.throttled();
            }
            Why::Quota | Why::Down => self.window.halve(),
        }
        self.faults = 0;
        self.tally = Tally::begin(self.era, now);
        self.tally.started(now);
    }
}
