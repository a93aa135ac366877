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

/// The longest time between two checks: the clock may jump, and other processes may reopen a bucket.
const MAX_CHECK_INTERVAL: Duration = Duration::from_millis(250);

/// The period over which the checks of governors that wait for the same time are spread.
const CHECK_SPREAD: Duration = Duration::from_millis(3);

/// The period over which runs that were parked until the same time are spread.
const RESUME_SPREAD: Duration = Duration::from_secs(3);

/// A message to the thread.
#[derive(Debug)]
pub(super) enum GovernorMessage {
    /// A run wants to send a request.
    Request { key: Arc<str>, waiter: Waiter },
    /// An update on a request in progress.
    Update { key: Arc<str>, permit: bucket::RequestPermit, update: PermitUpdate },
    /// A reservation or settlement of the daily budget.
    Day(DayBudgetMessage),
    /// Write everything, confirm it, and end.
    End(Sender<()>),
}

/// An update on a request in progress.
#[derive(Debug, Clone, Copy)]
pub(super) enum PermitUpdate {
    /// The answer has begun.
    AnswerBegan,
    /// The request is over.
    Returned(RequestOutcome),
}

/// The thread's state; it owns the connection.
#[derive(Debug)]
pub(super) struct GovernorWorker {
    home: Home,
    clock: Arc<dyn Clock>,
    /// The sender to this thread, for permits.
    messages: Sender<GovernorMessage>,
    queues: HashMap<Arc<str>, BucketQueue>,
    jitter: JitterSource,
    /// Whether a reservation from the daily budget was requested.
    has_reserved_day: bool,
}

impl GovernorWorker {
    pub(super) fn new(home: Home, clock: Arc<dyn Clock>, messages: Sender<GovernorMessage>) -> GovernorWorker {
        GovernorWorker {
            home,
            clock,
            messages,
            queues: HashMap::new(),
            jitter: JitterSource::default(),
            has_reserved_day: false,
        }
    }

    /// Serves until an `End` message.
    pub(super) fn run(mut self, messages: &Receiver<GovernorMessage>) {
        let mut backend = BucketBackend::open(&self.home, self.clock.now());
        let own = process::new_holder_name().unwrap_or_else(|error| {
            tracing::warn!(%error, "this process has no name that other processes can check");
            PermitHolder("nobody".into())
        });
        while let Some(first) = self.next_message(messages) {
            let mut ending = None;
            for message in first.into_iter().chain(messages.try_iter()) {
                ending = self.handle(message, &mut backend, &own).or(ending);
            }
            let mut queues = std::mem::take(&mut self.queues);
            queues.values_mut().for_each(|queue| self.serve_queue(queue, &mut backend, &own));
            queues.retain(|_, queue| !queue.waiting.is_empty());
            self.queues = queues;
            if let Some(done) = ending {
                self.leave_queues(&mut backend, &own);
                let _gone = done.send(());
                return;
            }
        }
    }

    /// Waits for a message or the next check; returns nothing when all senders are gone.
    fn next_message(&self, messages: &Receiver<GovernorMessage>) -> Option<Option<GovernorMessage>> {
        let check = self.queues.values().filter_map(|queue| queue.next_check_at).min();
        let Some(check) = check else { return messages.recv().ok().map(Some) };
        match messages.recv_timeout(check.saturating_duration_since(Instant::now())) {
            Ok(message) => Some(Some(message)),
            Err(RecvTimeoutError::Timeout) => Some(None),
            Err(RecvTimeoutError::Disconnected) => None,
        }
    }

    /// Handles a message; returns the sender to confirm the end with.
    fn handle(
        &mut self,
        message: GovernorMessage,
        backend: &mut BucketBackend,
        own: &PermitHolder,
    ) -> Option<Sender<()>> {
        let (key, waiter, update) = match message {
            GovernorMessage::End(done) => return Some(done),
            GovernorMessage::Day(message) => {
                let is_first = matches!(message, DayBudgetMessage::Reserve { .. })
                    && !std::mem::replace(&mut self.has_reserved_day, true);
                day_budget::handle_day_message(message, backend, own, self.clock.now(), is_first);
                return None;
            }
            GovernorMessage::Request { key, waiter } => (key, Some(waiter), None),
            GovernorMessage::Update { key, permit, update } => (key, None, Some((permit, update))),
        };
        let queue = self.queues.entry(Arc::clone(&key)).or_insert_with(|| BucketQueue::new(key));
        queue.waiting.extend(waiter);
        queue.updates.extend(update);
        queue.changed = true;
        None
    }

    /// Serves one bucket: checks it if there are no new messages, and changes it if necessary.
    fn serve_queue(&mut self, queue: &mut BucketQueue, backend: &mut BucketBackend, own: &PermitHolder) {
        queue.remove_abandoned();
        let due = queue.next_check_at.is_some_and(|check| check <= Instant::now());
        if !queue.changed && !due {
            return;
        }
        let now = self.clock.now();
        let mut dead = Vec::new();
        if !queue.changed {
            let bucket = backend.read(&queue.key, own, now);
            dead = self.dead_holders(queue, &bucket, own);
            if let (true, Some(at)) = (dead.is_empty(), recheck_time(&bucket, queue, own, now)) {
                queue.next_check_at = Some(self.check_instant(at, now));
                return;
            }
        }
        let jitter = self.jitter.fraction();
        let decision = backend.change(&queue.key, own, now, |bucket| {
            dead.iter().for_each(|holder| bucket.forget(now, holder));
            queue.decide(bucket, now, own, jitter)
        });
        queue.updates.clear();
        queue.changed = false;
        self.send_decision(queue, decision, now);
    }

    /// Finds dead processes that hold a permit.
    fn dead_holders(&self, queue: &mut BucketQueue, bucket: &RateBucket, own: &PermitHolder) -> Vec<PermitHolder> {
        if !queue.is_liveness_check_due() {
            return Vec::new();
        }
        bucket.holders().filter(|holder| *holder != own && !process::is_alive(holder)).cloned().collect()
    }

    /// Sends the decision to the waiting runs.
    fn send_decision(&mut self, queue: &mut BucketQueue, decision: QueueDecision, now: Timestamp) {
        if let Some(until) = decision.closed {
            tracing::info!(bucket = &*queue.key, %until, "the provider accepts no requests for now");
        }
        let admitted: Vec<Waiter> = queue.waiting.drain(..decision.admitted.len()).collect();
        for ((permit, probe), waiter) in decision.admitted.into_iter().zip(admitted) {
            let held =
                HeldPermit { key: Arc::clone(&queue.key), permit, is_probe: probe, worker: self.messages.clone() };
            // If the run is gone by now, the dropped permit is returned.
            let _gone = waiter.reply.send(RequestAdmission::Admitted(ModelPermit::new(held)));
        }
        queue.next_check_at = None;
        match decision.others {
            None => {}
            Some(QueueVerdict::Wait(at)) => queue.next_check_at = Some(self.check_instant(at, now)),
            Some(QueueVerdict::Park(until)) => {
                for waiter in queue.waiting.drain(..) {
                    let _gone = waiter
                        .reply
                        .send(RequestAdmission::Park(until.plus(RESUME_SPREAD.mul_f64(self.jitter.fraction()))));
                }
            }
        }
    }

    /// When to check again for a change that is due at the clock time `at`.
    fn check_instant(&mut self, at: Timestamp, now: Timestamp) -> Instant {
        let wait = at.since(now).max(Duration::from_millis(1)) + CHECK_SPREAD.mul_f64(self.jitter.fraction());
        Instant::now() + wait.min(MAX_CHECK_INTERVAL)
    }

    /// Leaves all queues that this process still waits in.
    fn leave_queues(&mut self, backend: &mut BucketBackend, own: &PermitHolder) {
        let now = self.clock.now();
        for queue in self.queues.values() {
            backend.change(&queue.key, own, now, |bucket| bucket.leave(own));
        }
    }
}

/// When to check again, if the bucket has no change for the waiting runs.
fn recheck_time(bucket: &RateBucket, queue: &BucketQueue, own: &PermitHolder, now: Timestamp) -> Option<Timestamp> {
    // A correction after the clock was set back must be written, or each check makes it again.
    let first = queue.waiting.front().filter(|_| bucket.is_waiting(own) && !bucket.was_clock_set_back(now))?;
    match bucket.clone().admit(now, own, first.max_concurrent) {
        AdmitDecision::Wait(at) => Some(at),
        AdmitDecision::Go(_) | AdmitDecision::Park(_) => None,
    }
}
