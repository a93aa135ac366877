//! The requests of this process that wait for one bucket, in order.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kernel::RateBucket;
use kernel::bucket::{self, AdmitDecision, PermitHolder};
use protocol::Timestamp;
use tokio::sync::oneshot;

use super::admission::RequestAdmission;
use super::worker::PermitUpdate;

/// How often to check whether the processes that hold permits are alive.
const LIVENESS_CHECK_INTERVAL: Duration = Duration::from_secs(2);

/// A waiting request.
#[derive(Debug)]
pub(super) struct Waiter {
    /// How many requests the provider's server accepts at once.
    pub(super) max_concurrent: Option<u32>,
    pub(super) reply: oneshot::Sender<RequestAdmission>,
}

/// The queue of one bucket in this process.
#[derive(Debug)]
pub(super) struct BucketQueue {
    pub(super) key: Arc<str>,
    pub(super) waiting: VecDeque<Waiter>,
    /// Updates that are not written yet.
    pub(super) updates: Vec<(bucket::RequestPermit, PermitUpdate)>,
    /// Whether the queue or its updates changed since the bucket was last written.
    pub(super) changed: bool,
    /// When to check again.
    pub(super) next_check_at: Option<Instant>,
    last_liveness_check: Option<Instant>,
}

/// The decisions of one change.
#[derive(Debug, Default)]
pub(super) struct QueueDecision {
    /// The admitted requests in order, and whether each is a probe.
    pub(super) admitted: Vec<(bucket::RequestPermit, bool)>,
    /// The verdict for all requests after them.
    pub(super) others: Option<QueueVerdict>,
    /// The time until which this change has closed the bucket.
    pub(super) closed: Option<Timestamp>,
}

/// The verdict for requests that are not admitted.
#[derive(Debug, Clone, Copy)]
pub(super) enum QueueVerdict {
    Wait(Timestamp),
    Park(Timestamp),
}

impl BucketQueue {
    pub(super) fn new(key: Arc<str>) -> BucketQueue {
        BucketQueue {
            key,
            waiting: VecDeque::new(),
            updates: Vec::new(),
            changed: false,
            next_check_at: None,
            last_liveness_check: None,
        }
    }

    /// Drops requests that no longer wait.
    pub(super) fn remove_abandoned(&mut self) {
        let before = self.waiting.len();
        self.waiting.retain(|waiter| !waiter.reply.is_closed());
        self.changed |= self.waiting.len() != before;
    }

    /// Whether it is time to check which processes are alive.
    pub(super) fn is_liveness_check_due(&mut self) -> bool {
        let due = self.last_liveness_check.is_none_or(|checked_at| checked_at.elapsed() >= LIVENESS_CHECK_INTERVAL);
        if due {
            self.last_liveness_check = Some(Instant::now());
        }
        due
    }

    /// Applies the updates, then admits waiting requests.
    pub(super) fn decide(
        &self,
        bucket: &mut RateBucket,
        now: Timestamp,
        own: &PermitHolder,
        jitter: f64,
    ) -> QueueDecision {
        let was_open = bucket.closed_until().is_none();
        for (permit, update) in &self.updates {
            match update {
                PermitUpdate::AnswerBegan => bucket.note_answering(now, *permit),
                PermitUpdate::Returned(outcome) => bucket.settle(now, own, *permit, *outcome, jitter),
            }
        }
        let mut decision =
            QueueDecision { closed: bucket.closed_until().filter(|_| was_open), ..QueueDecision::default() };
        for waiter in &self.waiting {
            match bucket.admit(now, own, waiter.max_concurrent) {
                AdmitDecision::Go(permit) => decision.admitted.push((permit, bucket.is_probe(permit))),
                AdmitDecision::Wait(at) => {
                    decision.others = Some(QueueVerdict::Wait(at));
                    return decision;
                }
                AdmitDecision::Park(at) => {
                    decision.others = Some(QueueVerdict::Park(at));
                    return decision;
                }
            }
        }
        bucket.leave(own);
        decision
    }
}
