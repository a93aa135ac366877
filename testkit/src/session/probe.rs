//! A disk that fails or stalls on demand.

use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use store::{WriterPoint, WriterProbe};
use tokio::sync::watch;

/// A held commit continues after this long, so that a failed test can end.
const HELD_MAX: Duration = Duration::from_secs(20);

/// Makes commits fail or stall.
#[derive(Debug, Default)]
pub struct FailingProbe {
    order: Mutex<CommitFate>,
    changed: Condvar,
    /// The number of commits held so far.
    held: watch::Sender<u32>,
}

/// What happens to the next commits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum CommitFate {
    #[default]
    Pass,
    /// This many pass before one fails.
    FailAfter(u32),
    Fail,
    /// This many pass before the rest wait.
    HoldAfter(u32),
}

impl FailingProbe {
    /// Fails the `n`th commit from now, counted from 1; the others pass.
    pub fn fail_commit(&self, n: u32) {
        self.set(CommitFate::FailAfter(n.saturating_sub(1)));
    }

    /// Fails every commit until [`heal`](Self::heal), including held ones.
    pub fn fail(&self) {
        self.set(CommitFate::Fail);
    }

    /// Lets this many commits pass and holds every later one.
    pub fn hold_after(&self, passing: u32) {
        self.set(CommitFate::HoldAfter(passing));
    }

    /// Lets commits pass again, including held ones.
    pub fn heal(&self) {
        self.set(CommitFate::Pass);
    }

    /// Waits until this many commits have been held since the start.
    pub async fn until_held(&self, commits: u32) {
        let mut held = self.held.subscribe();
        let arrived = tokio::time::timeout(HELD_MAX / 2, held.wait_for(|held| *held >= commits)).await;
        assert!(arrived.is_ok(), "no commit was held");
    }

    fn set(&self, fate: CommitFate) {
        *self.lock() = fate;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, CommitFate> {
        self.order.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_if_held(&self) -> MutexGuard<'_, CommitFate> {
        let fate = self.lock();
        if *fate != CommitFate::HoldAfter(0) {
            return fate;
        }
        self.held.send_modify(|held| *held += 1);
        let held = |fate: &mut CommitFate| *fate == CommitFate::HoldAfter(0);
        let waited = self.changed.wait_timeout_while(fate, HELD_MAX, held);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

impl WriterProbe for FailingProbe {
    fn at(&self, point: WriterPoint) -> Result<(), io::Error> {
        let WriterPoint::BeforeCommit { .. } = point else { return Ok(()) };
        let mut fate = self.wait_if_held();
        let (fails, next) = match *fate {
            CommitFate::FailAfter(0) => (true, CommitFate::Pass),
            CommitFate::Fail => (true, CommitFate::Fail),
            CommitFate::Pass => (false, CommitFate::Pass),
            CommitFate::FailAfter(more) => (false, CommitFate::FailAfter(more - 1)),
            CommitFate::HoldAfter(more) => (false, CommitFate::HoldAfter(more.saturating_sub(1))),
        };
        *fate = next;
        if fails { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commits(probe: &FailingProbe, count: usize) -> Vec<bool> {
        (0..count).map(|_| probe.at(WriterPoint::BeforeCommit { last_seq: 1 }).is_ok()).collect()
    }

    #[test]
    fn exactly_the_nth_commit_fails() {
        let probe = FailingProbe::default();
        probe.fail_commit(3);
        assert_eq!(commits(&probe, 4), [true, true, false, true]);
    }

    #[test]
    fn all_commits_fail_until_it_is_healed_and_what_is_durable_stays_so() {
        let probe = FailingProbe::default();
        probe.fail();
        assert_eq!(commits(&probe, 2), [false, false]);
        assert!(probe.at(WriterPoint::AfterCommit { last_seq: 1 }).is_ok());
        probe.heal();
        assert_eq!(commits(&probe, 1), [true]);
    }

    #[test]
    fn a_held_commit_goes_on_when_it_is_healed() {
        let probe = FailingProbe::default();
        probe.hold_after(1);
        assert_eq!(commits(&probe, 1), [true]);
        std::thread::scope(|scope| {
            let late = scope.spawn(|| commits(&probe, 1));
            while *probe.held.borrow() == 0 {
                std::thread::yield_now();
            }
            probe.heal();
            assert_eq!(late.join().unwrap(), [true]);
        });
    }
}
