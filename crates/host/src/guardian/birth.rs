//! Starts guardians and recognises them.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Stdio;

use rustix::process::Pid;
use tokio::process::{Child, Command};

use super::{GUARDIAN_ARGUMENT, mark, record};
use crate::{FileLock, limits, proc};

/// The process name of a guardian, so that a `pkill -f` for the program does not kill it.
const GUARDIAN_NAME: &str = "guardian";

/// Starts a guardian with this socket as its standard input. Its standard output is the file of the lock, so that it
/// holds the lock while it lives; it writes nothing there.
pub(super) fn start_guardian(executable: &Path, socket: OwnedFd, lock: Option<&FileLock>) -> std::io::Result<Child> {
    let record = lock.map(|lock| (record::RECORD_VARIABLE, lock.programs_record().into_os_string()));
    let lock = lock.map(FileLock::share).transpose()?;
    let guardian = Command::new(executable)
        .arg0(GUARDIAN_NAME)
        .arg(GUARDIAN_ARGUMENT)
        .env_clear()
        .envs(guardian_environment())
        .envs(record)
        .stdin(Stdio::from(socket))
        .stdout(lock.map_or_else(Stdio::null, Stdio::from))
        .stderr(Stdio::null())
        .spawn()?;
    let pid = guardian.id().and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw);
    // If this fails, programs may open more files than usual.
    let _kept = pid.map(limits::restore_open_files);
    Ok(guardian)
}

/// Whether a process is a guardian, of any owner.
pub(crate) fn is_guardian(pid: Pid) -> bool {
    let line = proc::command_line(pid).unwrap_or_default();
    line.iter().map(Vec::as_slice).eq([GUARDIAN_NAME.as_bytes(), GUARDIAN_ARGUMENT.as_bytes()])
}

/// The environment of a guardian: no variable that could contain a key.
#[expect(clippy::disallowed_methods, reason = "no setting: what a program needs to be found and started at all")]
fn guardian_environment() -> impl Iterator<Item = (&'static str, OsString)> {
    ["PATH", "LD_LIBRARY_PATH", mark::MARK_VARIABLE]
        .into_iter()
        .filter_map(|name| Some((name, std::env::var_os(name)?)))
}
