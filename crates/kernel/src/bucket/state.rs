//! The state of a bucket.

use std::time::Duration;

use protocol::At;
use serde::{Deserialize, Serialize};

use super::Holder;
use super::gate::Gate;
use super::line::Line;
use super::pace::Pace;
use super::tally::Tally;
use super::window::Window;

/// An open bucket that nobody used for so long is as new: what was learnt then says little of today.
const MEMORY: Duration = Duration::from_secs(600);

/// A clock that shows less than before by more than this was set back.
const SET_BACK: Duration = Duration::from_secs(5);

/// What everybody who uses one account and model shares.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bucket {
    pub(super) gate: Gate,
    /// Counts closings and probes; a request of an older era says nothing of this one.
    pub(super) era: u64,
    pub(super) window: Window,
    pub(super) pace: Option<Pace>,
    pub(super) tally: Tally,
    /// Faults in a row, without an answer between them.
    pub(super) faults: u32,
    pub(super) line: Line,
    /// When a place last came free.
    pub(super) freed_at: At,
    seen_at: At,
}

/// The right to one request, as the bucket knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Permit {
    /// The era it started in.
    pub(super) era: u64,
}

impl Bucket {
    /// How many requests are under way.
    pub fn under_way(&self) -> u32 {
        self.line.under_way()
    }

    /// How many may be under way.
    pub fn window(&self) -> u32 {
        self.window.size()
    }

    /// Until when nobody may ask, if it is closed.
    pub fn closed_until(&self) -> Option<At> {
        match &self.gate {
            Gate::Open => None,
            Gate::Closed(closed) => Some(closed.until),
        }
    }

    /// Whether this request is the one that tests a closed bucket.
    pub fn is_probe(&self, permit: Permit) -> bool {
        matches!(&self.gate, Gate::Closed(closed) if closed.probe.is_some()) && permit.era == self.era
    }

    /// Whether this holder has a place in the line.
    pub fn is_waiting(&self, holder: &Holder) -> bool {
        self.line.is_waiting(holder)
    }

    /// Everybody who holds a request or waits for one.
    pub fn holders(&self) -> impl Iterator<Item = &Holder> {
        self.line.everybody()
    }

    /// Drops a holder that died, with all it held.
    pub fn forget(&mut self, now: At, holder: &Holder) {
        self.line.forget(holder);
        self.freed_at = now;
        if let Gate::Closed(closed) = &mut self.gate {
            closed.probe.take_if(|probe| probe.holder == *holder);
        }
    }

    /// Gives up a holder's place in the line.
    pub fn leave(&mut self, holder: &Holder) {
        self.line.leave(holder);
    }

    /// Whether the clock was set back since the bucket was last used: it must be changed to take that in.
    pub fn is_ahead(&self, now: At) -> bool {
        self.seen_at.since(now) > SET_BACK
    }

    /// Takes in the time: what is too old is forgotten, and a clock that was set back keeps nobody out for longer.
    pub(super) fn look(&mut self, now: At) {
        let open = matches!(self.gate, Gate::Open);
        if open && self.line.is_empty() && now.since(self.seen_at) > MEMORY {
            *self = Bucket { era: self.era.wrapping_add(1), ..Bucket::default() };
        }
        if self.is_ahead(now) {
            self.gate.set_back(self.seen_at.since(now));
            if let Some(pace) = &mut self.pace {
                pace.set_back(now);
            }
            self.tally = Tally::begin(self.tally.era, now);
            self.freed_at = now;
            self.seen_at = now;
        }
        self.seen_at = self.seen_at.max(now);
    }
}
