//! The thread that owns the connection to the buckets.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use host::{Clock, Home};
use kernel::RateBucket;
use kernel::bucket::{self, AdmitDecision, PermitHolder, RequestOutcome};
use protocol::Timestamp;

use super::admission::RequestAdmission;
use super::bucket_queue::{BucketQueue, QueueDecision, QueueVerdict, Waiter};
use super::bucket_store::BucketBackend;
use super::day_budget::{self, DayBudgetMessage};
use super::jitter::JitterSource;
use super::permit::{HeldPermit, ModelPermit};
use super::process;

/// The longest time without a look: the clock may jump, and others may open what was closed.
const MAX_LOOK_INTERVAL: Duration = Duration::from_millis(250);

/// How far apart those look again who wait for the same moment.
const LOOK_SPREAD: Duration = Duration::from_millis(3);

/// How far apart those come back who were parked until the same moment.
const RETURN_SPREAD: Duration = Duration::from_secs(3);

/// What the thread is told.
#[derive(Debug)]
pub(super) enum GovernorMessage {
    /// Somebody wants to ask.
    Request { key: Arc<str>, waiter: Waiter },
    /// Somebody who asks has something to say.
    Update { key: Arc<str>, permit: bucket::RequestPermit, word: PermitUpdate },
    /// Somebody asks for a share of the day's budget, or has used it.
    Day(DayBudgetMessage),
    /// Write everything, say so, and end.
    End(Sender<()>),
}

/// What somebody who asks has to say.
#[derive(Debug, Clone, Copy)]
pub(super) enum PermitUpdate {
    /// The answer has begun.
    AnswerBegan,
    /// It is over.
    Returned(RequestOutcome),
}

/// The owner of the connection.
#[derive(Debug)]
pub(super) struct GovernorWorker {
    home: Home,
    clock: Arc<dyn Clock>,
    /// The way back to itself, for permits.
    messages: Sender<GovernorMessage>,
    queues: HashMap<Arc<str>, BucketQueue>,
    jitter: JitterSource,
    /// Whether a share of the day's budget was asked for.
    counts_days: bool,
}

impl GovernorWorker {
    pub(super) fn new(home: Home, clock: Arc<dyn Clock>, notes: Sender<GovernorMessage>) -> GovernorWorker {
        GovernorWorker {
            home,
            clock,
            messages: notes,
            queues: HashMap::new(),
            jitter: JitterSource::default(),
            counts_days: false,
        }
    }

    /// Serves until it is told to end.
    pub(super) fn run(mut self, notes: &Receiver<GovernorMessage>) {
        let mut shelf = BucketBackend::open(&self.home, self.clock.now());
        let own = process::own_name().unwrap_or_else(|error| {
            tracing::warn!(%error, "this process has no name that others could look up");
            PermitHolder("nobody".into())
        });
        while let Some(first) = self.next_message(notes) {
            let mut ending = None;
            for note in first.into_iter().chain(notes.try_iter()) {
                ending = self.handle(note, &mut shelf, &own).or(ending);
            }
            let mut lanes = std::mem::take(&mut self.queues);
            lanes.values_mut().for_each(|lane| self.serve_queue(lane, &mut shelf, &own));
            lanes.retain(|_, lane| !lane.waiting.is_empty());
            self.queues = lanes;
            if let Some(done) = ending {
                self.leave_queues(&mut shelf, &own);
                let _gone = done.send(());
                return;
            }
        }
    }

    /// Waits for a note, or for the next look; nothing when nobody can send one.
    fn next_message(&self, notes: &Receiver<GovernorMessage>) -> Option<Option<GovernorMessage>> {
        let look = self.queues.values().filter_map(|lane| lane.next_look).min();
        let Some(look) = look else { return notes.recv().ok().map(Some) };
        match notes.recv_timeout(look.saturating_duration_since(Instant::now())) {
            Ok(note) => Some(Some(note)),
            Err(RecvTimeoutError::Timeout) => Some(None),
            Err(RecvTimeoutError::Disconnected) => None,
        }
    }

    /// Files a note; tells whom to answer if it was the last.
    fn handle(&mut self, note: GovernorMessage, shelf: &mut BucketBackend, own: &PermitHolder) -> Option<Sender<()>> {
        let (key, waiter, told) = match note {
            GovernorMessage::End(done) => return Some(done),
            GovernorMessage::Day(note) => {
                let first =
                    matches!(note, DayBudgetMessage::Reserve { .. }) && !std::mem::replace(&mut self.counts_days, true);
                day_budget::handle(note, shelf, own, self.clock.now(), first);
                return None;
            }
            GovernorMessage::Request { key, waiter } => (key, Some(waiter), None),
            GovernorMessage::Update { key, permit, word } => (key, None, Some((permit, word))),
        };
        let lane = self.queues.entry(Arc::clone(&key)).or_insert_with(|| BucketQueue::new(key));
        lane.waiting.extend(waiter);
        lane.updates.extend(told);
        lane.changed = true;
        None
    }

    /// Sees to one bucket: looks if nothing is new, and changes it if there is anything to change.
    fn serve_queue(&mut self, lane: &mut BucketQueue, shelf: &mut BucketBackend, own: &PermitHolder) {
        lane.tidy();
        let due = lane.next_look.is_some_and(|look| look <= Instant::now());
        if !lane.changed && !due {
            return;
        }
        let now = self.clock.now();
        let mut dead = Vec::new();
        if !lane.changed {
            let bucket = shelf.read(&lane.key, own, now);
            dead = self.dead_holders(lane, &bucket, own);
            if let (true, Some(at)) = (dead.is_empty(), next_check(&bucket, lane, own, now)) {
                lane.next_look = Some(self.next_look(at, now));
                return;
            }
        }
        let share = self.jitter.fraction();
        let decided = shelf.change(&lane.key, own, now, |bucket| {
            dead.iter().for_each(|holder| bucket.forget(now, holder));
            lane.decide(bucket, now, own, share)
        });
        lane.updates.clear();
        lane.changed = false;
        self.announce(lane, decided, now);
    }

    /// Finds those who died holding a place.
    fn dead_holders(&self, lane: &mut BucketQueue, bucket: &RateBucket, own: &PermitHolder) -> Vec<PermitHolder> {
        if !lane.is_roll_call_due() {
            return Vec::new();
        }
        bucket.holders().filter(|holder| *holder != own && !process::is_alive(holder)).cloned().collect()
    }

    /// Tells everybody what was decided.
    fn announce(&mut self, lane: &mut BucketQueue, decided: QueueDecision, now: Timestamp) {
        if let Some(until) = decided.closed {
            tracing::info!(bucket = &*lane.key, %until, "the provider is closed");
        }
        let admitted: Vec<Waiter> = lane.waiting.drain(..decided.admitted.len()).collect();
        for ((permit, probe), waiter) in decided.admitted.into_iter().zip(admitted) {
            let held = HeldPermit { key: Arc::clone(&lane.key), permit, probe, worker: self.messages.clone() };
            // Whoever is gone by now drops the permit, and so gives it back.
            let _gone = waiter.reply.send(RequestAdmission::Admitted(ModelPermit::new(held)));
        }
        lane.next_look = None;
        match decided.others {
            None => {}
            Some(QueueVerdict::Wait(at)) => lane.next_look = Some(self.next_look(at, now)),
            Some(QueueVerdict::Park(until)) => {
                for waiter in lane.waiting.drain(..) {
                    let _gone = waiter
                        .reply
                        .send(RequestAdmission::Park(until.plus(RETURN_SPREAD.mul_f64(self.jitter.fraction()))));
                }
            }
        }
    }

    /// When to look again for a moment of the clock.
    fn next_look(&mut self, at: Timestamp, now: Timestamp) -> Instant {
        let wait = at.since(now).max(Duration::from_millis(1)) + LOOK_SPREAD.mul_f64(self.jitter.fraction());
        Instant::now() + wait.min(MAX_LOOK_INTERVAL)
    }

    /// Leaves the lines in which somebody of this process still stands.
    fn leave_queues(&mut self, shelf: &mut BucketBackend, own: &PermitHolder) {
        let now = self.clock.now();
        for lane in self.queues.values() {
            shelf.change(&lane.key, own, now, |bucket| bucket.leave(own));
        }
    }
}

/// When to look again, if the bucket has nothing new for those who wait.
fn next_check(bucket: &RateBucket, lane: &BucketQueue, own: &PermitHolder, now: Timestamp) -> Option<Timestamp> {
    // What a clock that was set back changes must be written, or it is found out anew at each look.
    let first = lane.waiting.front().filter(|_| bucket.is_waiting(own) && !bucket.is_ahead(now))?;
    match bucket.clone().admit(now, own, first.max_concurrent) {
        AdmitDecision::Wait(at) => Some(at),
        AdmitDecision::Go(_) | AdmitDecision::Park(_) => None,
    }
}
