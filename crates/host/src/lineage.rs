//! The origin of a process: the user, or an agent's command.
//!
//! Every process that a command starts stays below its guardian, also after `setsid` or a double fork, since the
//! guardian is a subreaper. So it is enough to go up from parent to parent and look for a process of Bosun. In its
//! own PID namespace a process cannot see its parents; there the marks give the same information, and the mark in its
//! resource limits cannot be removed.

use std::os::unix::fs::MetadataExt;

use rustix::process::Pid;

use crate::guardian::{has_lowered_lock_limit, is_guardian, is_marked};
use crate::proc::{self, ProcessStat, positive_pid};

/// The origin of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lineage {
    /// Not started by a process of Bosun.
    Person,
    /// Started by a command of Bosun, directly or indirectly.
    Agent,
    /// It has ended, or cannot be examined.
    Unknown,
}

/// Maximum number of ancestors examined. Only a process that hides something has so many.
const MAX_ANCESTORS: usize = 10_000;

impl Lineage {
    /// The origin of the process with this id.
    pub fn of(pid: u32) -> Lineage {
        i32::try_from(pid).ok().and_then(positive_pid).map_or(Lineage::Unknown, Lineage::of_ancestors)
    }

    /// The origin of this process.
    pub fn of_this_process() -> Lineage {
        if is_marked() {
            return Lineage::Agent;
        }
        // Without `/proc`, or with that of another namespace, it is unknown.
        proc::own_visible_pid().map_or(Lineage::Unknown, Lineage::of_ancestors)
    }

    fn of_ancestors(process: Pid) -> Lineage {
        if has_lowered_lock_limit(process) {
            return Lineage::Agent;
        }
        let parent = |child: Pid| ProcessStat::read(child).map(|stat| stat.parent);
        let (mut child, mut current) = (process, process);
        for _ in 0..MAX_ANCESTORS {
            match parent(current) {
                Ok(None) => return Lineage::Person,
                Ok(Some(parent)) if is_bosun_process(parent) => return Lineage::Agent,
                Ok(Some(parent)) => (child, current) = (current, parent),
                Err(_) if current == process => return Lineage::Unknown,
                // It exists but may not be examined, so it is not a process of this user.
                Err(_) if parent(child).is_ok_and(|parent| parent == Some(current)) => return Lineage::Person,
                // It ended meanwhile and its children got another parent, so the search starts again.
                Err(_) => (child, current) = (process, process),
            }
        }
        Lineage::Agent
    }
}

/// Whether this is a guardian, or an owner that inherited the processes of a killed guardian.
fn is_bosun_process(pid: Pid) -> bool {
    is_guardian(pid) || (proc::process_name(pid).is_ok_and(|name| name == "bosun") && may_run_same_executable(pid))
}

/// Whether a process may run the same executable as this one. A sealed process hides its executable; a script that is
/// only named `bosun` does not.
fn may_run_same_executable(pid: Pid) -> bool {
    let executable = |process: &str| std::fs::metadata(format!("/proc/{process}/exe")).map(|it| (it.dev(), it.ino()));
    match (executable(&pid.to_string()), executable("self")) {
        (Ok(theirs), Ok(ours)) => theirs == ours,
        (Err(_), _) | (_, Err(_)) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_process_has_unknown_origin() {
        for pid in [0, 4_194_304, u32::MAX] {
            assert_eq!(Lineage::of(pid), Lineage::Unknown, "{pid}");
        }
    }
}
