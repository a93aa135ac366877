//! Ends the processes that are left when an owner and its guardian were both killed. The next owner finds them by their
//! marks.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};
use std::{fs, io};

use rustix::process::{Pid, Signal, getpid, kill_process};

use super::mark::GuardianId;
use super::record::{self, RecordContent};
use crate::proc::{ProcessStat, parse_pid};

/// How long to wait for killed processes to be gone.
const MAX_KILL_WAIT: Duration = Duration::from_secs(5);
/// How long to wait before looking for them again.
const KILL_RETRY: Duration = Duration::from_millis(5);

/// Whether a record shows that programs ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecordedPrograms {
    Programs,
    Nothing,
}

/// Resumes a stopped guardian: it ends by itself when its owner is gone.
pub(crate) fn wake_guardian(record: &Path) {
    signal_guardian(record, Signal::CONT);
}

/// Kills a guardian that does not end. Its processes are found by their marks.
pub(crate) fn kill_guardian(record: &Path) {
    signal_guardian(record, Signal::KILL);
}

fn signal_guardian(record: &Path, signal: Signal) {
    if let Ok(RecordContent::Guardian(guardian)) = record::read_record(record)
        && let Some(pid) = guardian.live_process()
    {
        let _gone = kill_process(pid, signal);
    }
}

/// Ends every process with the mark of a record's guardian; fails with those that do not end.
pub(crate) fn end_marked(record: &Path) -> io::Result<Result<RecordedPrograms, Vec<Pid>>> {
    let guardian = match record::read_record(record)? {
        RecordContent::Nothing => return Ok(Ok(RecordedPrograms::Nothing)),
        RecordContent::PastPrograms => return Ok(Ok(RecordedPrograms::Programs)),
        RecordContent::Guardian(guardian) => guardian,
    };
    let began = Instant::now();
    loop {
        let left = marked_processes(guardian)?;
        if left.is_empty() {
            return Ok(Ok(RecordedPrograms::Programs));
        }
        if began.elapsed() > MAX_KILL_WAIT {
            return Ok(Err(left));
        }
        for pid in left {
            let _gone = kill_process(pid, Signal::KILL);
        }
        thread::sleep(KILL_RETRY);
    }
}

/// The live processes with the mark of this guardian.
fn marked_processes(guardian: GuardianId) -> io::Result<Vec<Pid>> {
    let own = getpid();
    let mut processes = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let Some(pid) = entry?.file_name().to_str().and_then(parse_pid).filter(|&pid| pid != own) else { continue };
        // A process that is gone by now is not a leftover.
        if guardian.has_started(pid) && ProcessStat::read(pid).is_ok_and(|stat| !stat.is_dead()) {
            processes.push(pid);
        }
    }
    Ok(processes)
}
