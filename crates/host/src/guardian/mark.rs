//! The mark that shows which job a process belongs to: a variable in its environment, which survives re-parenting,
//! sessions and process groups.
//!
//! A Bosun inside a job of another Bosun appends its own mark to the outer one, so that both recognise the process.
//!
//! A program can clear its environment. So the guardian also lowers a resource limit, the number of file locks, to a
//! number that identifies the guardian: Linux has not applied that limit since 2.4, every process inherits it through
//! `fork`, `exec`, `setsid` and `unshare`, any process can read it, and only root can raise it again.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::str::FromStr;

use rustix::process::{Pid, Resource, Rlimit, getpid, getrlimit, setrlimit};

use super::wire::JobId;
use crate::proc::{self, ProcessStat};

pub(super) const MARK_VARIABLE: &str = "BOSUN_JOB";
const SEPARATOR: u8 = b',';

/// Identifies a guardian; no other process gets the same id until the machine restarts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GuardianId {
    pid: i32,
    start_time: u64,
}

/// How many low bits of the limit hold a guardian's start time; the other bits hold its process id.
const STARTED_BITS: u32 = 40;

impl GuardianId {
    /// This process.
    pub(super) fn of_this_process() -> GuardianId {
        let own = getpid();
        GuardianId { pid: own.as_raw_pid(), start_time: ProcessStat::read(own).map_or(0, |stat| stat.start_ticks) }
    }

    /// Its process, if it still runs.
    pub(super) fn live_process(self) -> Option<Pid> {
        let pid = proc::positive_pid(self.pid)?;
        ProcessStat::read(pid).is_ok_and(|stat| stat.start_ticks == self.start_time && !stat.is_dead()).then_some(pid)
    }

    /// Whether a process was started below this guardian, according to either of its marks.
    pub(super) fn has_started(self, process: Pid) -> bool {
        let by_limit = || lock_limit_of(process) == Some(self.lock_limit());
        let by_environment = || {
            let value = proc::environment_variable(process, MARK_VARIABLE).unwrap_or_default();
            let prefix = format!("{self}.");
            value.split(|&byte| byte == SEPARATOR).any(|mark| mark.starts_with(prefix.as_bytes()))
        };
        by_limit() || by_environment()
    }

    fn lock_limit(self) -> u64 {
        let started = self.start_time & ((1 << STARTED_BITS) - 1);
        (u64::from(self.pid.unsigned_abs()) << STARTED_BITS) | started
    }
}

impl fmt::Display for GuardianId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.pid, self.start_time)
    }
}

impl FromStr for GuardianId {
    type Err = ();

    fn from_str(text: &str) -> Result<GuardianId, ()> {
        let (pid, started) = text.split_once('.').ok_or(())?;
        let id = GuardianId { pid: pid.parse().map_err(drop)?, start_time: started.parse().map_err(drop)? };
        if id.pid > 0 { Ok(id) } else { Err(()) }
    }
}

/// Lowers the limit that identifies this guardian's programs. Inside a job of another Bosun the outer guardian's number
/// stays: it ends everything below it.
pub(super) fn lower_lock_limit(id: GuardianId) {
    if getrlimit(Resource::Locks).maximum.is_none() {
        let limit = Some(id.lock_limit());
        // Any process may lower it; if that fails, the environment still has the mark.
        let _unmarked = setrlimit(Resource::Locks, Rlimit { current: limit, maximum: limit });
    }
}

/// Whether a process has a limit that a guardian lowered, or that it lowered further itself to hide its origin.
pub(crate) fn has_lowered_lock_limit(process: Pid) -> bool {
    lock_limit_of(process).is_some()
}

/// The hard limit of file locks of a process; none when it has no limit or cannot be read.
fn lock_limit_of(process: Pid) -> Option<u64> {
    parse_lock_limit(&fs::read_to_string(format!("/proc/{process}/limits")).ok()?)
}

fn parse_lock_limit(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max file locks"))?;
    line.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// Makes and recognises the marks of one guardian.
#[derive(Debug)]
pub(super) struct ProcessMarks {
    /// The mark of this process, if an outer Bosun started it; empty otherwise.
    outer_mark: OsString,
    /// The id of the guardian as text.
    guardian: String,
}

impl ProcessMarks {
    /// The marks of this process, whose id and start time no other process has had since boot.
    pub(super) fn of_this_process() -> ProcessMarks {
        ProcessMarks { outer_mark: own_mark().unwrap_or_default(), guardian: GuardianId::of_this_process().to_string() }
    }

    /// The variable to set for a job.
    pub(super) fn variable(&self, job: JobId) -> (&'static OsStr, OsString) {
        let mut value = self.outer_mark.clone();
        if !value.is_empty() {
            value.push(",");
        }
        value.push(format!("{}.{}", self.guardian, job.0));
        (OsStr::new(MARK_VARIABLE), value)
    }

    /// The job of this guardian that started a process, according to its environment.
    pub(super) fn job_of(&self, process: Pid) -> Option<JobId> {
        proc::environment_variable(process, MARK_VARIABLE).and_then(|value| self.parse(&value))
    }

    fn parse(&self, value: &[u8]) -> Option<JobId> {
        value.split(|&byte| byte == SEPARATOR).find_map(|mark| {
            let job = str::from_utf8(mark).ok()?.strip_prefix(&self.guardian)?.strip_prefix('.')?;
            job.parse().ok().map(JobId)
        })
    }
}

/// Whether this process has a mark, and so was started by a guardian.
pub(crate) fn is_marked() -> bool {
    own_mark().is_some() || getrlimit(Resource::Locks).maximum.is_some()
}

#[expect(
    clippy::disallowed_methods,
    reason = "the mark is not a setting: a guardian leaves it and a guardian extends it"
)]
fn own_mark() -> Option<OsString> {
    std::env::var_os(MARK_VARIABLE)
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    fn marks(outer: &str, guardian: &str) -> ProcessMarks {
        ProcessMarks { outer_mark: outer.into(), guardian: guardian.into() }
    }

    #[test]
    fn guardian_recognises_only_its_own_jobs() {
        let (_, value) = marks("", "10.5").variable(JobId(3));
        assert_eq!(marks("", "10.5").parse(value.as_bytes()), Some(JobId(3)));
        for other in ["1.5", "10.50", "0.5", "10.5.3"] {
            assert_eq!(marks("", other).parse(value.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn guardian_id_round_trips_and_has_a_unique_limit() {
        let id = GuardianId { pid: 4_194_303, start_time: 987_654_321 };
        assert_eq!(id.to_string().parse(), Ok(id));
        for text in ["", ".", "1", "0.5", "-1.5", "a.b", "1.5.3"] {
            assert_eq!(text.parse::<GuardianId>(), Err(()), "{text}");
        }
        assert_ne!(id.lock_limit(), GuardianId { pid: 4_194_302, ..id }.lock_limit());
        assert_ne!(id.lock_limit(), GuardianId { start_time: 987_654_322, ..id }.lock_limit());
        assert!(id.lock_limit() < u64::MAX / 2, "not taken for unlimited");
    }

    #[test]
    fn hard_limit_is_read_for_any_soft_limit() {
        let line = |soft, hard| format!("Max cpu time  1 2 seconds\nMax file locks   {soft}   {hard}   locks \n");
        assert_eq!(parse_lock_limit(&line("unlimited", "unlimited")), None);
        assert_eq!(parse_lock_limit(&line("5", "unlimited")), None);
        assert_eq!(parse_lock_limit(&line("5", "77")), Some(77));
        assert_eq!(parse_lock_limit(""), None);
    }

    #[test]
    fn inner_and_outer_guardian_both_recognise_a_process() {
        let (_, outer) = marks("", "10.5").variable(JobId(3));
        let (_, both) = marks(outer.to_str().unwrap(), "20.6").variable(JobId(4));
        assert_eq!(marks("", "10.5").parse(both.as_bytes()), Some(JobId(3)));
        assert_eq!(marks("", "20.6").parse(both.as_bytes()), Some(JobId(4)));
    }
}
