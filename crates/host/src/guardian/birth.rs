//! Starts guardians and recognises them.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Stdio;

use rustix::process::Pid;
use tokio::process::{Child, Command};

use super::{GUARDIAN_ARGUMENT, mark, record};
use crate::{FileLock, limits, proc};

/// Its own process name, so that `pkill -f` for the program spares it.
const NAME: &str = "guardian";

/// Starts a guardian on the other end of this socket. Its standard output, which it does not use, is the lock that it
/// holds while it lives.
pub(super) fn start(executable: &Path, socket: OwnedFd, lock: Option<&FileLock>) -> std::io::Result<Child> {
    let record = lock.map(|lock| (record::VARIABLE, lock.programs_record().into_os_string()));
    let lock = lock.map(FileLock::share).transpose()?;
    let guardian = Command::new(executable)
        .arg0(NAME)
        .arg(GUARDIAN_ARGUMENT)
        .env_clear()
        .envs(environment())
        .envs(record)
        .stdin(Stdio::from(socket))
        .stdout(lock.map_or_else(Stdio::null, Stdio::from))
        .stderr(Stdio::null())
        .spawn()?;
    let pid = guardian.id().and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw);
    // If this is not allowed, programs run with more descriptors than usual.
    let _kept = pid.map(limits::lower_open_files);
    Ok(guardian)
}

/// Whether a process is a guardian, of any owner.
pub(crate) fn is_guardian(pid: Pid) -> bool {
    let line = proc::command_line(pid).unwrap_or_default();
    line.iter().map(Vec::as_slice).eq([NAME.as_bytes(), GUARDIAN_ARGUMENT.as_bytes()])
}

/// Its environment: nothing that could contain a key.
#[expect(clippy::disallowed_methods, reason = "no setting: what a program needs to be found and started at all")]
fn environment() -> impl Iterator<Item = (&'static str, OsString)> {
    ["PATH", "LD_LIBRARY_PATH", mark::VARIABLE].into_iter().filter_map(|name| Some((name, std::env::var_os(name)?)))
}
