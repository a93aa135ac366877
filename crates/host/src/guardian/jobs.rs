//! The guardian's jobs: starts them, finds out which job a process belongs to, and ends them and their leftovers.
//!
//! Because the guardian is a subreaper, every process that a job leaves behind becomes the guardian's own child, an
//! *orphan*. So a job's processes are its leader, the orphans that belong to it, and all their descendants; and a job
//! without orphans has left nothing behind, which one read of `/proc` shows.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, kill_process_group, wait};

use super::mark::ProcessMarks;
use super::phase::{self, JobPhase};
use super::program::{ExitGrace, ExitStatus, KillMode, Leftovers, ProgramExit};
use super::start::{classify_fault, start_program};
use super::wire::{GuardianReport, JobId, SpawnRequest};
use crate::proc::{ProcessStat, ProcessTable, own_children};

/// The jobs that have not been reported as ended.
#[derive(Debug)]
pub(super) struct Jobs {
    marks: ProcessMarks,
    jobs: HashMap<JobId, GuardedJob>,
    leaders: HashMap<Pid, JobId>,
    /// Orphans whose job is known. They cannot be confused: their process ids are reused only after we reap them.
    orphans: HashMap<Pid, JobId>,
    /// Live children whose job cannot be found out, and when they were first seen.
    unknown: HashMap<Pid, Instant>,
}

#[derive(Debug)]
struct GuardedJob {
    leader: Pid,
    leftovers: Leftovers,
    exit_grace: ExitGrace,
    phase: JobPhase,
}

impl Jobs {
    pub(super) fn new(marks: ProcessMarks) -> Jobs {
        Jobs { marks, jobs: HashMap::new(), leaders: HashMap::new(), orphans: HashMap::new(), unknown: HashMap::new() }
    }

    /// Starts a job on its three descriptors.
    pub(super) fn spawn(&mut self, request: SpawnRequest, descriptors: Vec<OwnedFd>) -> GuardianReport {
        let (job, leftovers, parting) = (request.job, request.leftovers, request.parting);
        match start_program(&request, &self.marks, descriptors) {
            Ok(leader) => {
                self.jobs.insert(job, GuardedJob { leader, leftovers, exit_grace: parting, phase: JobPhase::Running });
                self.leaders.insert(leader, job);
                GuardianReport::Started { job, pid: leader.as_raw_pid() }
            }
            Err(error) => {
                GuardianReport::Failed { job, fault: classify_fault(&error, &request), text: error.to_string() }
            }
        }
    }

    /// Begins to end a job. A job that is not known has already ended.
    pub(super) fn kill(&mut self, id: JobId, mode: KillMode, now: Instant) {
        let Some(job) = self.jobs.get_mut(&id) else { return };
        let was_running = matches!(job.phase, JobPhase::Running);
        job.phase = job.phase.after_kill_request(mode, now);
        if was_running && mode == KillMode::Gentle {
            let leader = job.leader;
            self.ask_to_end(id, leader, now);
        }
    }

    /// Sends SIGTERM once to every process of every job.
    pub(super) fn ask_all_to_end(&mut self, now: Instant) {
        let leaders: Vec<(JobId, Pid)> = self.jobs.iter().map(|(&id, job)| (id, job.leader)).collect();
        for (id, leader) in leaders {
            self.ask_to_end(id, leader, now);
        }
    }

    /// Whether a program still runs that must not be killed in the middle of its work.
    pub(super) fn has_patient_program(&self) -> bool {
        let runs = |job: &GuardedJob| self.leaders.contains_key(&job.leader);
        self.jobs.values().any(|job| job.exit_grace == ExitGrace::Patient && runs(job))
    }

    /// Sends SIGTERM once to every process of a job: to the leader's process group, then to the processes outside it.
    fn ask_to_end(&mut self, id: JobId, leader: Pid, now: Instant) {
        let _ = self.adopt_orphans(now);
        let roots = self.children_of(id);
        let outside = ProcessTable::read().map(|all| all.live_descendants(roots)).unwrap_or_default();
        let _ = kill_process_group(leader, Signal::TERM);
        for (pid, _) in outside.into_iter().filter(|(_, stat)| stat.group != Some(leader)) {
            let _ = kill_process(pid, Signal::TERM);
        }
    }

    /// Reaps every child that has ended; returns whether there are children left.
    pub(super) fn reap(&mut self, now: Instant) -> ChildProcesses {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) => self.record_exit(pid, status, now),
                Ok(None) => return ChildProcesses::Some,
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return ChildProcesses::None,
            }
        }
    }

    fn record_exit(&mut self, pid: Pid, status: WaitStatus, now: Instant) {
        self.orphans.remove(&pid);
        let job = self.leaders.remove(&pid).and_then(|id| self.jobs.get_mut(&id));
        if let (Some(job), Some(status)) = (job, exit_status(status)) {
            job.phase = job.phase.after_exit(status, job.leftovers, now);
        }
    }

    /// Advances every job that is ending, and reports those that have ended.
    pub(super) fn advance(&mut self, now: Instant) -> Vec<GuardianReport> {
        let ending: Vec<JobId> =
            self.jobs.iter().filter(|(_, job)| job.phase.next_check(now).is_some()).map(|(&id, _)| id).collect();
        if ending.is_empty() {
            return Vec::new();
        }
        let unknown = self.adopt_orphans(now);
        let mut snapshot = LazyProcessTable::default();
        ending.into_iter().filter_map(|id| self.advance_job(id, unknown, &mut snapshot, now)).collect()
    }

    fn advance_job(
        &mut self,
        id: JobId,
        unknown: UnknownChildren,
        snapshot: &mut LazyProcessTable,
        now: Instant,
    ) -> Option<GuardianReport> {
        let roots = self.children_of(id);
        let job = self.jobs.get_mut(&id)?;
        let (status, leftovers) = match job.phase {
            JobPhase::Running => return None,
            JobPhase::Stopping { kill_at } => {
                if now >= kill_at {
                    kill_all(&snapshot.living(&roots));
                }
                return None;
            }
            JobPhase::KeepingLeftovers { status } => (status, count(&snapshot.living(&roots))),
            JobPhase::KillingLeftovers { status, left, .. } if roots.is_empty() && unknown == UnknownChildren::None => {
                (status, left)
            }
            JobPhase::KillingLeftovers { kill_at, .. } if now < kill_at => return None,
            JobPhase::KillingLeftovers { status, kill_at, left } => {
                let living = snapshot.living(&roots);
                kill_all(&living);
                let chase = self.chase(id, now);
                let left = count(&living).max(left).max(u32::from(chase == OrphanSearch::Caught));
                self.jobs.get_mut(&id)?.phase = JobPhase::KillingLeftovers { status, kill_at, left };
                let none_unknown = self.adopt_orphans(now) == UnknownChildren::None;
                let is_cleared = roots.is_empty() && chase == OrphanSearch::NoneFound && none_unknown;
                if !is_cleared && now < kill_at + phase::GIVE_UP_AFTER {
                    return None;
                }
                (status, left)
            }
        };
        self.jobs.remove(&id);
        Some(GuardianReport::Exited { job: id, exit: ProgramExit { status, leftovers } })
    }

    /// Kills a job's orphans as they appear. A process that forks and exits repeatedly is gone before a scan of the
    /// whole machine is finished, but each of its successors becomes a child of the guardian.
    fn chase(&mut self, id: JobId, now: Instant) -> OrphanSearch {
        let mut chase = OrphanSearch::NoneFound;
        for _ in 0..MAX_CHASE_ROUNDS {
            self.reap(now);
            let unknown = self.adopt_orphans(now);
            let caught: Vec<Pid> = self.orphans.iter().filter(|&(_, &job)| job == id).map(|(&pid, _)| pid).collect();
            if caught.is_empty() && unknown == UnknownChildren::None {
                break;
            }
            for pid in caught {
                let _ = kill_process(pid, Signal::KILL);
                chase = OrphanSearch::Caught;
            }
        }
        chase
    }

    /// How long the guardian may sleep if no child ends and no request arrives.
    pub(super) fn next_check(&self, now: Instant) -> Option<Duration> {
        self.jobs.values().filter_map(|job| job.phase.next_check(now)).min()
    }

    /// The children of the guardian that belong to a job.
    fn children_of(&self, id: JobId) -> Vec<Pid> {
        let of_job = |(&pid, &job): (&Pid, &JobId)| (job == id).then_some(pid);
        self.leaders.iter().chain(&self.orphans).filter_map(of_job).collect()
    }

    /// Finds the jobs of children that no request started.
    fn adopt_orphans(&mut self, now: Instant) -> UnknownChildren {
        // Without the list, there may be unknown children.
        let Ok(children) = own_children() else { return UnknownChildren::Some };
        let mut unknown = UnknownChildren::None;
        self.unknown.retain(|pid, _| children.contains(pid));
        for child in children {
            if self.leaders.contains_key(&child) || self.orphans.contains_key(&child) {
                continue;
            }
            match ProcessStat::read(child) {
                Ok(stat) if !stat.is_dead() => match self.job_of(child, stat) {
                    Some(job) => {
                        self.orphans.insert(child, job);
                    }
                    // During `exec`, a process has no environment for a moment.
                    None => {
                        let seen = *self.unknown.entry(child).or_insert(now);
                        if now.saturating_duration_since(seen) < UNKNOWN_JOB_WAIT {
                            unknown = UnknownChildren::Some;
                        }
                    }
                },
                Ok(_) | Err(_) => unknown = UnknownChildren::Some,
            }
        }
        unknown
    }

    /// The job of a live orphan: by its mark, its process group or its session; otherwise the only remaining job.
    fn job_of(&self, orphan: Pid, stat: ProcessStat) -> Option<JobId> {
        let led_by = |leader: Option<Pid>| self.jobs.iter().find(|(_, job)| Some(job.leader) == leader);
        let by_leader = || led_by(stat.group).or_else(|| led_by(stat.session)).map(|(&id, _)| id);
        let last_left = || (self.jobs.len() == 1).then(|| self.jobs.keys().next().copied()).flatten();
        self.marks.job_of(orphan).or_else(by_leader).or_else(last_left)
    }
}

/// How long after it was first seen the job of a child may still become known.
const UNKNOWN_JOB_WAIT: Duration = Duration::from_millis(500);

/// How often in a row a chase looks for orphans of a job.
const MAX_CHASE_ROUNDS: usize = 200;

/// Whether there are children whose job is unknown. They may still turn out to belong to a job that is ending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
enum UnknownChildren {
    Some,
    None,
}

/// Whether a chase found an orphan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OrphanSearch {
    Caught,
    NoneFound,
}

/// Whether the guardian has children.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChildProcesses {
    Some,
    None,
}

/// A process table that is read when it is first needed.
#[derive(Debug, Default)]
struct LazyProcessTable(Option<ProcessTable>);

impl LazyProcessTable {
    fn living(&mut self, roots: &[Pid]) -> Vec<(Pid, ProcessStat)> {
        if roots.is_empty() {
            return Vec::new();
        }
        if self.0.is_none() {
            self.0 = ProcessTable::read().ok();
        }
        self.0.as_ref().map(|all| all.live_descendants(roots.iter().copied())).unwrap_or_default()
    }
}

/// Kills processes that may already be gone.
pub(super) fn kill_all(processes: &[(Pid, ProcessStat)]) {
    for (pid, _) in processes {
        let _ = kill_process(*pid, Signal::KILL);
    }
}

fn count(processes: &[(Pid, ProcessStat)]) -> u32 {
    u32::try_from(processes.len()).unwrap_or(u32::MAX)
}

fn exit_status(status: WaitStatus) -> Option<ExitStatus> {
    status.exit_status().map(ExitStatus::Code).or_else(|| status.terminating_signal().map(ExitStatus::Signal))
}
