//! Everybody in this process who waits for one bucket, first come first.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kernel::RateBucket;
use kernel::bucket::{self, AdmitDecision, PermitHolder};
use protocol::Timestamp;
use tokio::sync::oneshot;

use super::admission::RequestAdmission;
use super::worker::PermitUpdate;

/// How often it is looked whether those who hold places still live.
const ROLL_CALL_INTERVAL: Duration = Duration::from_secs(2);

/// Somebody who waits.
#[derive(Debug)]
pub(super) struct Waiter {
    /// How many requests its server takes at once.
    pub(super) max_concurrent: Option<u32>,
    pub(super) reply: oneshot::Sender<RequestAdmission>,
}

/// One bucket's affairs in this process.
#[derive(Debug)]
pub(super) struct BucketQueue {
    pub(super) key: Arc<str>,
    pub(super) waiting: VecDeque<Waiter>,
    /// What was told and is not written yet.
    pub(super) updates: Vec<(bucket::RequestPermit, PermitUpdate)>,
    /// Whether somebody came or left since the bucket was last changed.
    pub(super) changed: bool,
    /// When to look again.
    pub(super) next_look: Option<Instant>,
    last_roll_call: Option<Instant>,
}

/// What was decided in one change.
#[derive(Debug, Default)]
pub(super) struct QueueDecision {
    /// Who may go, in order, and whether it is a probe.
    pub(super) admitted: Vec<(bucket::RequestPermit, bool)>,
    /// What everybody after them is told.
    pub(super) others: Option<QueueVerdict>,
    /// Until when the bucket has just been closed.
    pub(super) closed: Option<Timestamp>,
}

/// What those are told who may not go.
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
            next_look: None,
            last_roll_call: None,
        }
    }

    /// Drops those who no longer wait.
    pub(super) fn tidy(&mut self) {
        let before = self.waiting.len();
        self.waiting.retain(|waiter| !waiter.reply.is_closed());
        self.changed |= self.waiting.len() != before;
    }

    /// Whether it is time to see who still lives.
    pub(super) fn is_roll_call_due(&mut self) -> bool {
        let due = self.last_roll_call.is_none_or(|called| called.elapsed() >= ROLL_CALL_INTERVAL);
        if due {
            self.last_roll_call = Some(Instant::now());
        }
        due
    }

    /// Decides on everything that waits: first what was told, then who may go.
    pub(super) fn decide(
        &self,
        bucket: &mut RateBucket,
        now: Timestamp,
        own: &PermitHolder,
        dice: f64,
    ) -> QueueDecision {
        let open = bucket.closed_until().is_none();
        for (permit, word) in &self.updates {
            match word {
                PermitUpdate::AnswerBegan => bucket.note_answering(now, *permit),
                PermitUpdate::Returned(news) => bucket.settle(now, own, *permit, *news, dice),
            }
        }
        let mut decided = QueueDecision { closed: bucket.closed_until().filter(|_| open), ..QueueDecision::default() };
        for waiter in &self.waiting {
            match bucket.admit(now, own, waiter.max_concurrent) {
                AdmitDecision::Go(permit) => decided.admitted.push((permit, bucket.is_probe(permit))),
                AdmitDecision::Wait(at) => {
                    decided.others = Some(QueueVerdict::Wait(at));
                    return decided;
                }
                AdmitDecision::Park(at) => {
                    decided.others = Some(QueueVerdict::Park(at));
                    return decided;
                }
            }
        }
        bucket.leave(own);
        decided
    }
}
