//! How a guardian is started, and what it is known by.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Stdio;

use rustix::process::Pid;
use tokio::process::{Child, Command};

use super::{GUARDIAN_ARGUMENT, mark, record};
use crate::{FileLock, limits, proc};

/// Its own name, so that `pkill -f` for the program spares it.
const NAME: &str = "guardian";

/// Starts a guardian that listens to the other end of this socket. Its output, which it does not use, is the lock that it
/// holds as long as it lives.
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
    // Where this is not allowed, programs have more descriptors than they are used to, and run all the same.
    let _kept = pid.map(limits::lower_open_files);
    Ok(guardian)
}

/// Whether a process is a guardian, of whichever owner.
pub(crate) fn is_guardian(pid: Pid) -> bool {
    let line = proc::command_line(pid).unwrap_or_default();
    line.iter().map(Vec::as_slice).eq([NAME.as_bytes(), GUARDIAN_ARGUMENT.as_bytes()])
}

/// What it gets of the environment: nothing that a key could be in.
#[expect(clippy::disallowed_methods, reason = "no setting: what a program needs to be found and started at all")]
fn environment() -> impl Iterator<Item = (&'static str, OsString)> {
    ["PATH", "LD_LIBRARY_PATH", mark::VARIABLE].into_iter().filter_map(|name| Some((name, std::env::var_os(name)?)))
}
