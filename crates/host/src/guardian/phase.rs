//! The phases of a job, from its start to its report.

use std::time::{Duration, Instant};

use super::program::{ExitStatus, KillMode, Leftovers};

/// How long processes that outlive the leader may take to end by themselves, as the last of a shell's `>(…)` does.
const LINGER: Duration = Duration::from_millis(200);
/// How long a job may take to end after it was asked to.
const GRACE: Duration = Duration::from_secs(2);
/// How often killed processes are checked again.
const RETRY: Duration = Duration::from_millis(20);
/// When a killed process is reported as gone; it may hang in the kernel or belong to another user.
pub(super) const GIVE_UP: Duration = Duration::from_secs(5);

/// The phase of a job.
#[derive(Debug, Clone, Copy)]
pub(super) enum JobPhase {
    /// Its leader runs, and it was not asked to end.
    Running,
    /// Asked to end; killed at `kill_at`, which may have passed.
    Stopping { kill_at: Instant },
    /// The leader is gone, and its leftovers must be killed.
    Clearing { status: ExitStatus, kill_at: Instant, left: u32 },
    /// The leader is gone, and its leftovers may stay.
    Leaving { status: ExitStatus },
}

impl JobPhase {
    /// The phase after the leader's end.
    pub(super) fn after_exit(self, status: ExitStatus, leftovers: Leftovers, now: Instant) -> JobPhase {
        match (self, leftovers) {
            (JobPhase::Running, Leftovers::Keep) => JobPhase::Leaving { status },
            (JobPhase::Running, Leftovers::Kill) => JobPhase::Clearing { status, kill_at: now + LINGER, left: 0 },
            (JobPhase::Stopping { kill_at }, _) => JobPhase::Clearing { status, kill_at, left: 0 },
            (ended @ (JobPhase::Clearing { .. } | JobPhase::Leaving { .. }), _) => ended,
        }
    }

    /// The phase after a request to end the job; a later request cannot postpone an earlier one.
    pub(super) fn asked_to_end(self, how: KillMode, now: Instant) -> JobPhase {
        let by = match how {
            KillMode::Gentle => now + GRACE,
            KillMode::Now => now,
        };
        match self {
            JobPhase::Running => JobPhase::Stopping { kill_at: by },
            JobPhase::Stopping { kill_at } => JobPhase::Stopping { kill_at: kill_at.min(by) },
            JobPhase::Clearing { status, kill_at, left } => {
                JobPhase::Clearing { status, kill_at: kill_at.min(by), left }
            }
            leaving @ JobPhase::Leaving { .. } => leaving,
        }
    }

    /// When the phase must be checked again, if no child ends before.
    pub(super) fn due(self, now: Instant) -> Option<Duration> {
        match self {
            JobPhase::Running => None,
            JobPhase::Stopping { kill_at } | JobPhase::Clearing { kill_at, .. } => {
                Some(kill_at.saturating_duration_since(now).max(RETRY))
            }
            JobPhase::Leaving { .. } => Some(RETRY),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATUS: ExitStatus = ExitStatus::Code(0);

    #[test]
    fn what_outlives_its_leader_may_end_by_itself_first() {
        let now = Instant::now();
        let cleared_at = |phase: JobPhase, leftovers| match phase.after_exit(STATUS, leftovers, now) {
            JobPhase::Clearing { kill_at, .. } => Some(kill_at),
            JobPhase::Leaving { .. } => None,
            JobPhase::Running | JobPhase::Stopping { .. } => panic!("a phase with a living leader"),
        };
        assert_eq!(cleared_at(JobPhase::Running, Leftovers::Kill), Some(now + LINGER));
        assert_eq!(cleared_at(JobPhase::Running, Leftovers::Keep), None);
        for leftovers in [Leftovers::Kill, Leftovers::Keep] {
            let stopping = JobPhase::Stopping { kill_at: now };
            assert_eq!(cleared_at(stopping, leftovers), Some(now), "a killed job keeps nothing");
        }
    }

    #[test]
    fn a_firmer_request_comes_earlier_and_a_gentler_one_changes_nothing() {
        let now = Instant::now();
        let gentle = JobPhase::Running.asked_to_end(KillMode::Gentle, now);
        assert_eq!(gentle.due(now), Some(GRACE));
        let firm = gentle.asked_to_end(KillMode::Now, now);
        assert_eq!(firm.due(now), Some(RETRY));
        assert_eq!(firm.asked_to_end(KillMode::Gentle, now).due(now), Some(RETRY));
    }

    #[test]
    fn only_a_running_job_lets_the_guardian_sleep() {
        let now = Instant::now();
        assert_eq!(JobPhase::Running.due(now), None);
        assert_eq!(JobPhase::Stopping { kill_at: now + GRACE }.due(now), Some(GRACE));
        assert_eq!(JobPhase::Stopping { kill_at: now }.due(now + GRACE), Some(RETRY));
        assert_eq!(JobPhase::Clearing { status: STATUS, kill_at: now, left: 1 }.due(now + GRACE), Some(RETRY));
    }
}
