//! The owner's side: starts programs through a guardian, and starts a guardian when there is none.

use std::fs::OpenOptions;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::pipe::{PipeFlags, pipe_with};
use tokio::sync::oneshot;

use super::error::{SpawnError, Survivors};
use super::link::{GuardianHandle, JobWaiters};
use super::packet::Packet;
use super::process::{Job, Process, ProcessInput, ProcessOutput};
use super::program::{Program, Stderr, Stdin};
use super::wire::{GuardianRequest, JobId, OsBytes, SpawnFault, SpawnRequest};
use crate::FileLock;

/// Starts programs that cannot outlive this process. Clones share one guardian process, which starts with the first
/// program and ends when the last clone and the last [`Job`] are dropped.
#[derive(Debug, Clone)]
pub struct Guardian {
    executable: Arc<PathBuf>,
    lock: Option<Arc<FileLock>>,
    link: Arc<Mutex<Option<GuardianHandle>>>,
}

impl Guardian {
    /// A guardian that runs `executable`, which must call [`guardian_main`](super::guardian_main) when its only
    /// argument is [`GUARDIAN_ARGUMENT`](super::GUARDIAN_ARGUMENT).
    pub fn new(executable: PathBuf) -> Guardian {
        Guardian { executable: Arc::new(executable), lock: None, link: Arc::default() }
    }

    /// The program that it runs.
    pub fn executable(&self) -> &Path {
        &self.executable
    }

    /// Makes the guardian hold a lock, which is released only when everything that it started is gone.
    #[must_use]
    pub fn with_lock(self, lock: FileLock) -> Guardian {
        Guardian { lock: Some(Arc::new(lock)), ..self }
    }

    /// Starts a program. If the future is dropped before it completes, the program is killed.
    pub async fn spawn(&self, program: Program) -> Result<Process, SpawnError> {
        let link = self.link()?;
        let failed = |error: io::Error| SpawnError::new(&program, SpawnFault::Other, error.to_string());
        let (streams, descriptors) = open_streams(&program).map_err(failed)?;
        let id = link.next_job();
        let packet = Packet::new(&spawn_request(id, &program), descriptors).map_err(failed)?;
        let (started, start) = oneshot::channel();
        let (exited, exit) = oneshot::channel();
        let mut job = Job::new(id, link.clone(), program.exit_grace, exit);
        link.spawn(id, packet, JobWaiters { started, exited });
        match start.await {
            Ok(Ok(pid)) => job.set_pid(pid),
            Ok(Err((fault, text))) => return Err(SpawnError::new(&program, fault, text)),
            Err(_) => return Err(SpawnError::Unavailable("it ended before it replied".into())),
        }
        Ok(Process { stdin: streams.stdin, output: streams.output, stderr: streams.stderr, job })
    }

    /// Ends every started program with all its processes, and waits until they are gone, even if a program has stopped
    /// the guardian with a signal.
    pub async fn end(&self) -> Result<(), Survivors> {
        let link = self.link.lock().unwrap_or_else(PoisonError::into_inner).take();
        match link {
            Some(link) => link.end().await,
            None => Ok(()),
        }
    }

    /// The live guardian, or a new one.
    fn link(&self) -> Result<GuardianHandle, SpawnError> {
        let mut link = self.link.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = link.as_ref().filter(|link| link.is_open()) {
            return Ok(open.clone());
        }
        let fresh = GuardianHandle::start(&self.executable, self.lock.as_deref())
            .map_err(|error| SpawnError::Unavailable(format!("cannot run {}: {error}", self.executable.display())))?;
        Ok(link.insert(fresh).clone())
    }
}

fn spawn_request(job: JobId, program: &Program) -> GuardianRequest {
    let env = program.env.iter().map(|(name, value)| (OsBytes(name.clone()), OsBytes(value.clone())));
    GuardianRequest::Spawn(SpawnRequest {
        job,
        program: OsBytes(program.program.clone()),
        args: program.args.iter().cloned().map(OsBytes).collect(),
        cwd: OsBytes(program.cwd.clone().into_os_string()),
        env: env.collect(),
        leftovers: program.leftovers,
        parting: program.exit_grace,
        memory: program.max_memory_bytes,
    })
}

/// The caller's ends of a program's streams.
struct Streams {
    stdin: Option<ProcessInput>,
    output: ProcessOutput,
    stderr: Option<ProcessOutput>,
}

/// Opens both ends of a program's streams; the program's ends are in the order of their descriptor numbers.
fn open_streams(program: &Program) -> io::Result<(Streams, Vec<OwnedFd>)> {
    let (output, their_output) = output_pipe()?;
    let (stdin, their_stdin) = match program.stdin {
        Stdin::Null => (None, open_null()?),
        Stdin::Pipe => input_pipe().map(|(ours, theirs)| (Some(ours), theirs))?,
    };
    let (stderr, their_stderr) = match program.stderr {
        Stderr::Merge => (None, their_output.try_clone()?),
        Stderr::Pipe => output_pipe().map(|(ours, theirs)| (Some(ours), theirs))?,
        Stderr::Null => (None, open_null()?),
    };
    Ok((Streams { stdin, output, stderr }, vec![their_stdin, their_output, their_stderr]))
}

fn output_pipe() -> io::Result<(ProcessOutput, OwnedFd)> {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
    Ok((ProcessOutput::from_owned_fd(read)?, write))
}

fn input_pipe() -> io::Result<(ProcessInput, OwnedFd)> {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
    Ok((ProcessInput::from_owned_fd(write)?, read))
}

fn open_null() -> io::Result<OwnedFd> {
    Ok(OpenOptions::new().read(true).write(true).open("/dev/null")?.into())
}
