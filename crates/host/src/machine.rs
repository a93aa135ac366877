//! The machine and this process on it: process identity, free disk space, and immediate termination.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::{fs, io, thread};

use protocol::api::ProgramFile;
use rustix::process::{
    DumpableBehavior, Pid, Signal, getpid, kill_process, set_dumpable_behavior, setsid, test_kill_process,
};

use crate::Lineage;
use crate::proc::ProcessStat;

/// Identifies a process; no later process has the same identity.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ProcessIdentity {
    /// The boot id of the machine.
    pub boot: String,
    /// Its process id, which may be reused after it.
    pub pid: u32,
    /// When it started, in clock ticks since boot.
    pub start_ticks: u64,
}

impl ProcessIdentity {
    /// This process.
    pub fn current() -> io::Result<ProcessIdentity> {
        let pid = getpid();
        let pid_number = u32::try_from(pid.as_raw_pid()).map_err(io::Error::other)?;
        Ok(ProcessIdentity { boot: boot_id()?, pid: pid_number, start_ticks: ProcessStat::read(pid)?.start_ticks })
    }

    /// Whether exactly this process still runs. A process that has ended but was not reaped does not count.
    pub fn is_alive(&self) -> bool {
        let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw) else { return false };
        let same_boot = boot_id().is_ok_and(|boot| boot == self.boot);
        same_boot
            && match ProcessStat::read(pid) {
                Ok(stat) => stat.start_ticks == self.start_ticks && !stat.is_dead(),
                // Some machines hide sealed processes. A process that accepts a signal is alive, and may be this one.
                Err(_) => test_kill_process(pid).is_ok(),
            }
    }
}

/// The file of the program that this process runs, even if another file has replaced it meanwhile.
pub fn program_file() -> io::Result<ProgramFile> {
    let file = fs::metadata("/proc/self/exe")?;
    let path = std::env::current_exe()?.to_string_lossy().into_owned();
    Ok(ProgramFile { path, device: file.dev(), inode: file.ino() })
}

/// Leaves the terminal of this process: it survives the terminal, and gets none of its signals.
pub fn leave_terminal() -> io::Result<()> {
    setsid()?;
    Ok(())
}

/// The boot id of the machine.
pub(crate) fn boot_id() -> io::Result<String> {
    Ok(fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned())
}

/// The bytes that an unprivileged user can still write to the file system of `path`.
pub fn free_bytes(path: &Path) -> io::Result<u64> {
    let stats = rustix::fs::statvfs(path)?;
    Ok(stats.f_bavail.saturating_mul(stats.f_frsize))
}

/// Whether a command of Bosun started this process, directly or indirectly. True also if the origin is unknown.
pub fn is_inside_job() -> bool {
    Lineage::of_this_process() != Lineage::Person
}

/// Closes this process to other processes of its user: its memory, environment and open files cannot be read through
/// `/proc`, and it cannot be traced. Processes that it starts are open again.
pub fn seal_process() -> io::Result<()> {
    Ok(set_dumpable_behavior(DumpableBehavior::NotDumpable)?)
}

/// Ends this process as a crash would: no destructor runs and nothing is flushed.
pub fn kill_self() -> ! {
    // A process may always signal itself, and this signal cannot be caught; the loop only satisfies the type.
    let _ = kill_process(getpid(), Signal::KILL);
    loop {
        thread::park();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_process_is_alive() {
        let owner = ProcessIdentity::current().unwrap();
        assert!(owner.is_alive());
        assert!(!ProcessIdentity { start_ticks: owner.start_ticks + 1, ..owner.clone() }.is_alive());
        assert!(!ProcessIdentity { boot: "another".into(), ..owner.clone() }.is_alive());
        assert!(!ProcessIdentity { pid: 0, ..owner.clone() }.is_alive());
        assert!(!ProcessIdentity { pid: u32::MAX, ..owner }.is_alive());
    }

    #[test]
    fn free_bytes_fails_for_a_missing_folder() {
        assert!(free_bytes(Path::new("/")).is_ok());
        assert!(free_bytes(Path::new("/no/such/folder")).is_err());
    }
}
