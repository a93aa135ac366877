//! Starting a program, and saying why it could not be started.

use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::{fs, io};

use rustix::process::Pid;

use super::mark::Marks;
use super::wire::{Fault, Spawn, Word};

/// Starts a program on its three descriptors, as the leader of a process group.
#[expect(clippy::disallowed_methods, reason = "this is where programs are started")]
pub(super) fn start(order: &Spawn, marks: &Marks, descriptors: Vec<OwnedFd>) -> io::Result<Pid> {
    let [stdin, stdout, stderr] = <[OwnedFd; 3]>::try_from(descriptors)
        .map_err(|_| io::Error::other("descriptors were lost on the way; too many files are open"))?;
    let env = order.env.iter().map(|(Word(name), Word(value))| (name.as_os_str(), value.as_os_str()));
    let (mark, value) = marks.variable(order.job);
    let child = Command::new(&order.program.0)
        .args(order.args.iter().map(|Word(argument)| argument))
        .current_dir(&order.cwd.0)
        .env_clear()
        .envs(env.filter(|(name, _)| !name.is_empty()))
        .env(mark, value)
        .process_group(0)
        .stdin(Stdio::from(stdin))
        .stdout(Stdio::from(stdout))
        .stderr(Stdio::from(stderr))
        .spawn()?;
    i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or_else(|| io::Error::other("a process without a number"))
}

/// Tells apart what the system reports with one number: a bad program and a bad folder.
pub(super) fn fault(error: &io::Error, order: &Spawn) -> Fault {
    let folder = Path::new(&order.cwd.0);
    match error.kind() {
        io::ErrorKind::ArgumentListTooLong => Fault::TooLarge,
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory if !is_folder(folder) => Fault::DirectoryMissing,
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Fault::ProgramMissing,
        io::ErrorKind::PermissionDenied if !may_enter(folder) => Fault::DirectoryForbidden,
        io::ErrorKind::PermissionDenied => Fault::ProgramForbidden,
        _ => Fault::Other,
    }
}

fn is_folder(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.is_dir())
}

fn may_enter(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}
