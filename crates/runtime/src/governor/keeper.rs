//! The thread that owns the connection to the buckets.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use host::{Clock, Home};
use kernel::Bucket;
use kernel::bucket::{self, Entrance, Holder, News};
use protocol::At;

use super::day::{self, DayNote};
use super::dice::Dice;
use super::door::Admission;
use super::lane::{Decided, Lane, Rest, Waiter};
use super::permit::{Held, Permit};
use super::process;
use super::shelf::Shelf;

/// The longest time without a look: the clock may jump, and others may open what was closed.
const SELDOM: Duration = Duration::from_millis(250);

/// How far apart those look again who wait for the same moment.
const SPREAD: Duration = Duration::from_millis(3);

/// How far apart those come back who were parked until the same moment.
const RETURN: Duration = Duration::from_secs(3);

/// What the thread is told.
#[derive(Debug)]
pub(super) enum Note {
    /// Somebody wants to ask.
    Ask { key: Arc<str>, waiter: Waiter },
    /// Somebody who asks has something to say.
    Told { key: Arc<str>, permit: bucket::Permit, word: Word },
    /// Somebody asks for a share of the day's budget, or has used it.
    Day(DayNote),
    /// Write everything, say so, and end.
    End(Sender<()>),
}

/// What somebody who asks has to say.
#[derive(Debug, Clone, Copy)]
pub(super) enum Word {
    /// The answer has begun.
    Begun,
    /// It is over.
    Back(News),
}

/// The owner of the connection.
#[derive(Debug)]
pub(super) struct Keeper {
    home: Home,
    clock: Arc<dyn Clock>,
    /// The way back to itself, for permits.
    notes: Sender<Note>,
    lanes: HashMap<Arc<str>, Lane>,
    dice: Dice,
    /// Whether a share of the day's budget was asked for.
    counts_days: bool,
}

impl Keeper {
    pub(super) fn new(home: Home, clock: Arc<dyn Clock>, notes: Sender<Note>) -> Keeper {
        Keeper { home, clock, notes, lanes: HashMap::new(), dice: Dice::default(), counts_days: false }
    }

    /// Serves until it is told to end.
    pub(super) fn run(mut self, notes: &Receiver<Note>) {
        let mut shelf = Shelf::open(&self.home, self.clock.now());
        let own = process::own_name().unwrap_or_else(|error| {
            tracing::warn!(%error, "this process has no name that others could look up");
            Holder("nobody".into())
        });
        while let Some(first) = self.next(notes) {
            let mut ending = None;
            for note in first.into_iter().chain(notes.try_iter()) {
                ending = self.hear(note, &mut shelf, &own).or(ending);
            }
            let mut lanes = std::mem::take(&mut self.lanes);
            lanes.values_mut().for_each(|lane| self.serve(lane, &mut shelf, &own));
            lanes.retain(|_, lane| !lane.waiting.is_empty());
            self.lanes = lanes;
            if let Some(done) = ending {
                self.part(&mut shelf, &own);
                let _gone = done.send(());
                return;
            }
        }
    }

    /// Waits for a note, or for the next look; nothing when nobody can send one.
    fn next(&self, notes: &Receiver<Note>) -> Option<Option<Note>> {
        let look = self.lanes.values().filter_map(|lane| lane.look).min();
        let Some(look) = look else { return notes.recv().ok().map(Some) };
        match notes.recv_timeout(look.saturating_duration_since(Instant::now())) {
            Ok(note) => Some(Some(note)),
            Err(RecvTimeoutError::Timeout) => Some(None),
            Err(RecvTimeoutError::Disconnected) => None,
        }
    }

    /// Files a note; tells whom to answer if it was the last.
    fn hear(&mut self, note: Note, shelf: &mut Shelf, own: &Holder) -> Option<Sender<()>> {
        let (key, waiter, told) = match note {
            Note::End(done) => return Some(done),
            Note::Day(note) => {
                let first = matches!(note, DayNote::Reserve { .. }) && !std::mem::replace(&mut self.counts_days, true);
                day::perform(note, shelf, own, self.clock.now(), first);
                return None;
            }
            Note::Ask { key, waiter } => (key, Some(waiter), None),
            Note::Told { key, permit, word } => (key, None, Some((permit, word))),
        };
        let lane = self.lanes.entry(Arc::clone(&key)).or_insert_with(|| Lane::new(key));
        lane.waiting.extend(waiter);
        lane.told.extend(told);
        lane.changed = true;
        None
    }

    /// Sees to one bucket: looks if nothing is new, and changes it if there is anything to change.
    fn serve(&mut self, lane: &mut Lane, shelf: &mut Shelf, own: &Holder) {
        lane.tidy();
        let due = lane.look.is_some_and(|look| look <= Instant::now());
        if !lane.changed && !due {
            return;
        }
        let now = self.clock.now();
        let mut dead = Vec::new();
        if !lane.changed {
            let bucket = shelf.look(&lane.key, own, now);
            dead = self.roll_call(lane, &bucket, own);
            if let (true, Some(at)) = (dead.is_empty(), still(&bucket, lane, own, now)) {
                lane.look = Some(self.later(at, now));
                return;
            }
        }
        let share = self.dice.share();
        let decided = shelf.change(&lane.key, own, now, |bucket| {
            dead.iter().for_each(|holder| bucket.forget(now, holder));
            lane.decide(bucket, now, own, share)
        });
        lane.told.clear();
        lane.changed = false;
        self.perform(lane, decided, now);
    }

    /// Finds those who died holding a place.
    fn roll_call(&self, lane: &mut Lane, bucket: &Bucket, own: &Holder) -> Vec<Holder> {
        if !lane.is_roll_call() {
            return Vec::new();
        }
        bucket.holders().filter(|holder| *holder != own && !process::is_alive(holder)).cloned().collect()
    }

    /// Tells everybody what was decided.
    fn perform(&mut self, lane: &mut Lane, decided: Decided, now: At) {
        if let Some(until) = decided.closed {
            tracing::info!(bucket = &*lane.key, %until, "the provider is closed");
        }
        let admitted: Vec<Waiter> = lane.waiting.drain(..decided.go.len()).collect();
        for ((permit, probe), waiter) in decided.go.into_iter().zip(admitted) {
            let held = Held { key: Arc::clone(&lane.key), permit, probe, keeper: self.notes.clone() };
            // Whoever is gone by now drops the permit, and so gives it back.
            let _gone = waiter.reply.send(Admission::Go(Permit::new(held)));
        }
        lane.look = None;
        match decided.rest {
            None => {}
            Some(Rest::Wait(at)) => lane.look = Some(self.later(at, now)),
            Some(Rest::Park(until)) => {
                for waiter in lane.waiting.drain(..) {
                    let _gone = waiter.reply.send(Admission::Park(until.plus(RETURN.mul_f64(self.dice.share()))));
                }
            }
        }
    }

    /// When to look again for a moment of the clock.
    fn later(&mut self, at: At, now: At) -> Instant {
        let wait = at.since(now).max(Duration::from_millis(1)) + SPREAD.mul_f64(self.dice.share());
        Instant::now() + wait.min(SELDOM)
    }

    /// Leaves the lines in which somebody of this process still stands.
    fn part(&mut self, shelf: &mut Shelf, own: &Holder) {
        let now = self.clock.now();
        for lane in self.lanes.values() {
            shelf.change(&lane.key, own, now, |bucket| bucket.leave(own));
        }
    }
}

/// When to look again, if the bucket has nothing new for those who wait.
fn still(bucket: &Bucket, lane: &Lane, own: &Holder, now: At) -> Option<At> {
    // What a clock that was set back changes must be written, or it is found out anew at each look.
    let first = lane.waiting.front().filter(|_| bucket.is_waiting(own) && !bucket.is_ahead(now))?;
    match bucket.clone().admit(now, own, first.most) {
        Entrance::Wait(at) => Some(at),
        Entrance::Go(_) | Entrance::Park(_) => None,
    }
}
