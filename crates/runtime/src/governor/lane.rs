//! Everybody in this process who waits for one bucket, first come first.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kernel::Bucket;
use kernel::bucket::{self, Entrance, Holder};
use protocol::At;
use tokio::sync::oneshot;

use super::door::Admission;
use super::keeper::Word;

/// How often it is looked whether those who hold places still live.
const ROLL_CALL: Duration = Duration::from_secs(2);

/// Somebody who waits.
#[derive(Debug)]
pub(super) struct Waiter {
    /// How many requests its server takes at once.
    pub(super) most: Option<u32>,
    pub(super) reply: oneshot::Sender<Admission>,
}

/// One bucket's affairs in this process.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) key: Arc<str>,
    pub(super) waiting: VecDeque<Waiter>,
    /// What was told and is not written yet.
    pub(super) told: Vec<(bucket::Permit, Word)>,
    /// Whether somebody came or left since the bucket was last changed.
    pub(super) changed: bool,
    /// When to look again.
    pub(super) look: Option<Instant>,
    called: Option<Instant>,
}

/// What was decided in one change.
#[derive(Debug, Default)]
pub(super) struct Decided {
    /// Who may go, in order, and whether it is a probe.
    pub(super) go: Vec<(bucket::Permit, bool)>,
    /// What everybody after them is told.
    pub(super) rest: Option<Rest>,
    /// Until when the bucket has just been closed.
    pub(super) closed: Option<At>,
}

/// What those are told who may not go.
#[derive(Debug, Clone, Copy)]
pub(super) enum Rest {
    Wait(At),
    Park(At),
}

impl Lane {
    pub(super) fn new(key: Arc<str>) -> Lane {
        Lane { key, waiting: VecDeque::new(), told: Vec::new(), changed: false, look: None, called: None }
    }

    /// Drops those who no longer wait.
    pub(super) fn tidy(&mut self) {
        let before = self.waiting.len();
        self.waiting.retain(|waiter| !waiter.reply.is_closed());
        self.changed |= self.waiting.len() != before;
    }

    /// Whether it is time to see who still lives.
    pub(super) fn is_roll_call(&mut self) -> bool {
        let due = self.called.is_none_or(|called| called.elapsed() >= ROLL_CALL);
        if due {
            self.called = Some(Instant::now());
        }
        due
    }

    /// Decides on everything that waits: first what was told, then who may go.
    pub(super) fn decide(&self, bucket: &mut Bucket, now: At, own: &Holder, dice: f64) -> Decided {
        let open = bucket.closed_until().is_none();
        for (permit, word) in &self.told {
            match word {
                Word::Begun => bucket.begun(now, *permit),
                Word::Back(news) => bucket.settle(now, own, *permit, *news, dice),
            }
        }
        let mut decided = Decided { closed: bucket.closed_until().filter(|_| open), ..Decided::default() };
        for waiter in &self.waiting {
            match bucket.admit(now, own, waiter.most) {
                Entrance::Go(permit) => decided.go.push((permit, bucket.is_probe(permit))),
                Entrance::Wait(at) => {
                    decided.rest = Some(Rest::Wait(at));
                    return decided;
                }
                Entrance::Park(at) => {
                    decided.rest = Some(Rest::Park(at));
                    return decided;
                }
            }
        }
        bucket.leave(own);
        decided
    }
}
