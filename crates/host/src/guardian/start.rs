//! Starts a program, and classifies why it could not be started.

use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::{fs, io};

use rustix::process::{Pid, Resource, Rlimit, getrlimit, setrlimit};

use super::mark::ProcessMarks;
use super::wire::{OsBytes, SpawnFault, SpawnRequest};

/// Starts a program on its three descriptors, as the leader of a process group.
#[expect(clippy::disallowed_methods, reason = "this is where programs are started")]
pub(super) fn start_program(
    request: &SpawnRequest,
    marks: &ProcessMarks,
    descriptors: Vec<OwnedFd>,
) -> io::Result<Pid> {
    let [stdin, stdout, stderr] = <[OwnedFd; 3]>::try_from(descriptors)
        .map_err(|_| io::Error::other("descriptors were lost in transit; too many files are open"))?;
    let env = request.env.iter().map(|(OsBytes(name), OsBytes(value))| (name.as_os_str(), value.as_os_str()));
    let (mark, value) = marks.variable(request.job);
    let mut command = Command::new(&request.program.0);
    command
        .args(request.args.iter().map(|OsBytes(argument)| argument))
        .current_dir(&request.cwd.0)
        .env_clear()
        .envs(env.filter(|(name, _)| !name.is_empty()))
        .env(mark, value)
        .process_group(0)
        .stdin(Stdio::from(stdin))
        .stdout(Stdio::from(stdout))
        .stderr(Stdio::from(stderr));
    let child = with_raised_oom_score(|| with_memory_limit(request.memory, || command.spawn()))?;
    i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or_else(|| io::Error::other("a process without an id"))
}

/// How much a program's `oom_score_adj` is above Bosun's.
const OOM_SCORE_RAISE: i32 = 300;
const OOM_SCORE_FILE: &str = "/proc/self/oom_score_adj";

/// Starts a program that the system kills before this process when the machine runs out of memory. The score is raised
/// here and lowered again after the start; the program inherits it, so none of its processes runs without it.
fn with_raised_oom_score<T>(start: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let own_score = fs::read_to_string(OOM_SCORE_FILE).ok().and_then(|score| score.trim().parse::<i32>().ok());
    let set = |score: i32| fs::write(OOM_SCORE_FILE, score.to_string());
    // Any process may raise its score, and lower it again to its old value.
    let raised_from = own_score.filter(|own| set(own.saturating_add(OOM_SCORE_RAISE).min(1000)).is_ok());
    let started = start();
    if let Some(own) = raised_from {
        let _stays = set(own);
    }
    started
}

/// Starts a program whose processes may each use this much memory: memory they write to, not memory they only reserve.
/// It inherits the limit at its start.
fn with_memory_limit<T>(memory: Option<u64>, start: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let Some(memory) = memory else { return start() };
    let own = getrlimit(Resource::Data);
    let limit = own.current.map_or(memory, |own| own.min(memory));
    setrlimit(Resource::Data, Rlimit { current: Some(limit), ..own })?;
    let started = start();
    setrlimit(Resource::Data, own)?;
    started
}

/// Distinguishes a bad program from a bad folder, which the system reports with the same error.
pub(super) fn classify_fault(error: &io::Error, request: &SpawnRequest) -> SpawnFault {
    let folder = Path::new(&request.cwd.0);
    match error.kind() {
        io::ErrorKind::ArgumentListTooLong => SpawnFault::TooLarge,
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory if !is_folder(folder) => SpawnFault::DirectoryMissing,
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => SpawnFault::ProgramMissing,
        io::ErrorKind::PermissionDenied if !may_enter(folder) => SpawnFault::DirectoryForbidden,
        io::ErrorKind::PermissionDenied => SpawnFault::ProgramForbidden,
        _ => SpawnFault::Other,
    }
}

fn is_folder(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.is_dir())
}

fn may_enter(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}
