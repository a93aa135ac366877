//! The origin of a process: the user, or an agent's command.
//!
//! Every process that a command starts stays below its guardian, also after `setsid` or a double fork, since the
//! guardian is a subreaper. So it is enough to go up from parent to parent and look for a process of Bosun. In a PID
//! namespace of its own a process can hide its parents from itself; the marks give the same information, and the one in
//! its limits cannot be removed.

use std::os::unix::fs::MetadataExt;

use rustix::process::Pid;

use crate::guardian::{has_lowered_locks, is_guardian, is_marked};
use crate::proc::{self, ProcessStat, positive};

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
const LOOKS: usize = 10_000;

impl Lineage {
    /// The origin of the process with this id.
    pub fn of(pid: u32) -> Lineage {
        i32::try_from(pid).ok().and_then(positive).map_or(Lineage::Unknown, Lineage::above)
    }

    /// The origin of this process.
    pub fn of_this_process() -> Lineage {
        if is_marked() {
            return Lineage::Agent;
        }
        // Without `/proc`, or with that of another namespace, it is unknown.
        proc::own_number().map_or(Lineage::Unknown, Lineage::above)
    }

    fn above(process: Pid) -> Lineage {
        if has_lowered_locks(process) {
            return Lineage::Agent;
        }
        let parent = |child: Pid| ProcessStat::read(child).map(|stat| stat.parent);
        let (mut below, mut at) = (process, process);
        for _ in 0..LOOKS {
            match parent(at) {
                Ok(None) => return Lineage::Person,
                Ok(Some(parent)) if is_bosun(parent) => return Lineage::Agent,
                Ok(Some(parent)) => (below, at) = (at, parent),
                Err(_) if at == process => return Lineage::Unknown,
                // It exists but may not be examined: not one of this user's.
                Err(_) if parent(below).is_ok_and(|parent| parent == Some(at)) => return Lineage::Person,
                // It ended meanwhile and its children got another parent, so the search starts again.
                Err(_) => (below, at) = (process, process),
            }
        }
        Lineage::Agent
    }
}

/// Whether this is a guardian, or an owner that inherited the processes of a killed guardian.
fn is_bosun(pid: Pid) -> bool {
    is_guardian(pid) || (proc::name(pid).is_ok_and(|name| name == "bosun") && may_run_this(pid))
}

/// Whether a process may run the same executable as this one. A sealed process hides its executable; a script that is
/// only named `bosun` does not.
fn may_run_this(pid: Pid) -> bool {
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
    fn who_is_not_there_is_unknown() {
        for pid in [0, 4_194_304, u32::MAX] {
            assert_eq!(Lineage::of(pid), Lineage::Unknown, "{pid}");
        }
    }
}
