//! The phases of a job, from its start to its report.

use std::time::{Duration, Instant};

use super::program::{ExitStatus, KillMode, Leftovers};

/// How long processes that outlive the leader may take to end by themselves, such as a shell's `>(…)`.
const LINGER: Duration = Duration::from_millis(200);
/// How long a job may take to end after it was asked to.
const GRACE: Duration = Duration::from_secs(2);
/// The interval of checks of killed processes.
const CHECK_INTERVAL: Duration = Duration::from_millis(20);
/// How long after its kill a process is reported as gone even if it is not: it may hang in the kernel or belong to
/// another user.
pub(super) const GIVE_UP_AFTER: Duration = Duration::from_secs(5);

/// The phase of a job.
#[derive(Debug, Clone, Copy)]
pub(super) enum JobPhase {
    /// Its leader runs, and it was not asked to end.
    Running,
    /// It was asked to end; the guardian kills it at `kill_at`, which may have passed.
    Stopping { kill_at: Instant },
    /// The leader is gone; the guardian kills the leftovers, of which it has found `left`, at `kill_at`.
    KillingLeftovers { status: ExitStatus, kill_at: Instant, left: u32 },
    /// The leader is gone, and its leftovers may stay.
    KeepingLeftovers { status: ExitStatus },
}

impl JobPhase {
    /// The phase after the leader's end.
    pub(super) fn after_exit(self, status: ExitStatus, leftovers: Leftovers, now: Instant) -> JobPhase {
        match (self, leftovers) {
            (JobPhase::Running, Leftovers::Keep) => JobPhase::KeepingLeftovers { status },
            (JobPhase::Running, Leftovers::Kill) => {
                JobPhase::KillingLeftovers { status, kill_at: now + LINGER, left: 0 }
            }
            (JobPhase::Stopping { kill_at }, _) => JobPhase::KillingLeftovers { status, kill_at, left: 0 },
            (ended @ (JobPhase::KillingLeftovers { .. } | JobPhase::KeepingLeftovers { .. }), _) => ended,
        }
    }

    /// The phase after a request to end the job; a later request cannot postpone an earlier one.
    pub(super) fn after_kill_request(self, mode: KillMode, now: Instant) -> JobPhase {
        let latest = match mode {
            KillMode::Gentle => now + GRACE,
            KillMode::Now => now,
        };
        match self {
            JobPhase::Running => JobPhase::Stopping { kill_at: latest },
            JobPhase::Stopping { kill_at } => JobPhase::Stopping { kill_at: kill_at.min(latest) },
            JobPhase::KillingLeftovers { status, kill_at, left } => {
                JobPhase::KillingLeftovers { status, kill_at: kill_at.min(latest), left }
            }
            leaving @ JobPhase::KeepingLeftovers { .. } => leaving,
        }
    }

    /// The time until the phase must be checked again, if no child ends before.
    pub(super) fn next_check(self, now: Instant) -> Option<Duration> {
        match self {
            JobPhase::Running => None,
            JobPhase::Stopping { kill_at } | JobPhase::KillingLeftovers { kill_at, .. } => {
                Some(kill_at.saturating_duration_since(now).max(CHECK_INTERVAL))
            }
            JobPhase::KeepingLeftovers { .. } => Some(CHECK_INTERVAL),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATUS: ExitStatus = ExitStatus::Code(0);

    #[test]
    fn leftovers_may_linger_unless_the_job_was_killed() {
        let now = Instant::now();
        let cleared_at = |phase: JobPhase, leftovers| match phase.after_exit(STATUS, leftovers, now) {
            JobPhase::KillingLeftovers { kill_at, .. } => Some(kill_at),
            JobPhase::KeepingLeftovers { .. } => None,
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
    fn kill_request_can_be_brought_forward_but_not_postponed() {
        let now = Instant::now();
        let gentle = JobPhase::Running.after_kill_request(KillMode::Gentle, now);
        assert_eq!(gentle.next_check(now), Some(GRACE));
        let firm = gentle.after_kill_request(KillMode::Now, now);
        assert_eq!(firm.next_check(now), Some(CHECK_INTERVAL));
        assert_eq!(firm.after_kill_request(KillMode::Gentle, now).next_check(now), Some(CHECK_INTERVAL));
    }

    #[test]
    fn only_a_running_job_lets_the_guardian_sleep() {
        let now = Instant::now();
        assert_eq!(JobPhase::Running.next_check(now), None);
        assert_eq!(JobPhase::Stopping { kill_at: now + GRACE }.next_check(now), Some(GRACE));
        assert_eq!(JobPhase::Stopping { kill_at: now }.next_check(now + GRACE), Some(CHECK_INTERVAL));
        assert_eq!(
            JobPhase::KillingLeftovers { status: STATUS, kill_at: now, left: 1 }.next_check(now + GRACE),
            Some(CHECK_INTERVAL)
        );
    }
}
