//! The mark that tells which job a process belongs to: a variable in its environment, which survives
//! re-parenting, sessions and process groups.
//!
//! A Bosun inside a job of another Bosun adds its own mark after the outer one, so that both know the process.

use std::ffi::{OsStr, OsString};

use rustix::process::{Pid, getpid};

use super::wire::JobId;
use crate::proc::{self, Stat};

pub(super) const VARIABLE: &str = "BOSUN_JOB";
const SEPARATOR: u8 = b',';

/// Makes and recognises the marks of one guardian.
#[derive(Debug)]
pub(super) struct Marks {
    outer: OsString,
    guardian: String,
}

impl Marks {
    /// The marks of this process, whose number and start time no other process has had since boot.
    pub(super) fn of_this_process() -> Marks {
        let own = getpid();
        let started = Stat::read(own).map_or(0, |stat| stat.started);
        Marks { outer: own_mark().unwrap_or_default(), guardian: format!("{own}.{started}") }
    }

    /// The variable to set for a job.
    pub(super) fn variable(&self, job: JobId) -> (&'static OsStr, OsString) {
        let mut value = self.outer.clone();
        if !value.is_empty() {
            value.push(",");
        }
        value.push(format!("{}.{}", self.guardian, job.0));
        (OsStr::new(VARIABLE), value)
    }

    /// The job of this guardian that a process was started by, as far as its environment tells.
    pub(super) fn job_of(&self, process: Pid) -> Option<JobId> {
        proc::variable(process, VARIABLE).and_then(|value| self.parse(&value))
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
    own_mark().is_some()
}

#[expect(clippy::disallowed_methods, reason = "the mark is no setting: a guardian leaves it and a guardian extends it")]
fn own_mark() -> Option<OsString> {
    std::env::var_os(VARIABLE)
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    fn marks(outer: &str, guardian: &str) -> Marks {
        Marks { outer: outer.into(), guardian: guardian.into() }
    }

    #[test]
    fn a_guardian_knows_its_own_jobs_only() {
        let (_, value) = marks("", "10.5").variable(JobId(3));
        assert_eq!(marks("", "10.5").parse(value.as_bytes()), Some(JobId(3)));
        for other in ["1.5", "10.50", "0.5", "10.5.3"] {
            assert_eq!(marks("", other).parse(value.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn inner_and_outer_guardian_both_know_a_process() {
        let (_, outer) = marks("", "10.5").variable(JobId(3));
        let (_, both) = marks(outer.to_str().unwrap(), "20.6").variable(JobId(4));
        assert_eq!(marks("", "10.5").parse(both.as_bytes()), Some(JobId(3)));
        assert_eq!(marks("", "20.6").parse(both.as_bytes()), Some(JobId(4)));
    }
}
