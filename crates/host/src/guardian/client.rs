//! The owner's side: starts programs through a guardian, and a guardian when there is none.

use std::fs::OpenOptions;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::pipe::{PipeFlags, pipe_with};
use tokio::sync::oneshot;

use super::error::{SpawnError, Survivors};
use super::link::{LinkHandle, Waiters};
use super::packet::Packet;
use super::process::{Input, Job, Output, Process};
use super::program::{Program, Stderr, Stdin};
use super::wire::{Fault, JobId, Order, Spawn, Word};
use crate::FileLock;

/// Starts programs that cannot outlive this process. Copies share one guardian process, which is started with
/// the first program; when the last copy and the last [`Job`] are dropped it ends.
#[derive(Debug, Clone)]
pub struct Guardian {
    executable: Arc<PathBuf>,
    lock: Option<Arc<FileLock>>,
    link: Arc<Mutex<Option<LinkHandle>>>,
}

impl Guardian {
    /// Will run `executable`, which must call [`guardian_main`](super::guardian_main) when its only argument is
    /// [`GUARDIAN_ARGUMENT`](super::GUARDIAN_ARGUMENT).
    pub fn new(executable: PathBuf) -> Guardian {
        Guardian { executable: Arc::new(executable), lock: None, link: Arc::default() }
    }

    /// The same, holding a lock that is given back when everything is gone that was started, and not before.
    #[must_use]
    pub fn holding(self, lock: FileLock) -> Guardian {
        Guardian { lock: Some(Arc::new(lock)), ..self }
    }

    /// Starts a program. If this is dropped before it is done, so is the program.
    pub async fn spawn(&self, program: Program) -> Result<Process, SpawnError> {
        let link = self.link()?;
        let failed = |error: io::Error| SpawnError::new(&program, Fault::Other, error.to_string());
        let (streams, descriptors) = open_streams(&program).map_err(failed)?;
        let id = link.next_job();
        let packet = Packet::new(&order(id, &program), descriptors).map_err(failed)?;
        let (started, start) = oneshot::channel();
        let (exited, exit) = oneshot::channel();
        let mut job = Job::new(id, link.clone(), program.parting, exit);
        link.spawn(id, packet, Waiters { started, exited });
        match start.await {
            Ok(Ok(pid)) => job.started(pid),
            Ok(Err((fault, text))) => return Err(SpawnError::new(&program, fault, text)),
            Err(_) => return Err(SpawnError::Unavailable("it ended before it answered".into())),
        }
        Ok(Process { stdin: streams.stdin, output: streams.output, stderr: streams.stderr, job })
    }

    /// Ends every program that was started, with everything below it, and waits until all of it is gone. A guardian that
    /// a program has stopped does not keep it from being so.
    pub async fn end(&self) -> Result<(), Survivors> {
        let link = self.link.lock().unwrap_or_else(PoisonError::into_inner).take();
        match link {
            Some(link) => link.end().await,
            None => Ok(()),
        }
    }

    /// The guardian that lives, or a new one.
    fn link(&self) -> Result<LinkHandle, SpawnError> {
        let mut link = self.link.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = link.as_ref().filter(|link| link.is_open()) {
            return Ok(open.clone());
        }
        let fresh = LinkHandle::start(&self.executable, self.lock.as_deref())
            .map_err(|error| SpawnError::Unavailable(format!("cannot run {}: {error}", self.executable.display())))?;
        Ok(link.insert(fresh).clone())
    }
}

fn order(job: JobId, program: &Program) -> Order {
    let env = program.env.iter().map(|(name, value)| (Word(name.clone()), Word(value.clone())));
    Order::Spawn(Spawn {
        job,
        program: Word(program.program.clone()),
        args: program.args.iter().cloned().map(Word).collect(),
        cwd: Word(program.cwd.clone().into_os_string()),
        env: env.collect(),
        leftovers: program.leftovers,
        parting: program.parting,
        memory: program.memory,
    })
}

/// The starter's ends of a program's streams.
struct Streams {
    stdin: Option<Input>,
    output: Output,
    stderr: Option<Output>,
}

/// Opens both ends of a program's streams; the program's own are in the order of their numbers.
fn open_streams(program: &Program) -> io::Result<(Streams, Vec<OwnedFd>)> {
    let (output, their_output) = output_pipe()?;
    let (stdin, their_stdin) = match program.stdin {
        Stdin::Null => (None, null()?),
        Stdin::Pipe => input_pipe().map(|(ours, theirs)| (Some(ours), theirs))?,
    };
    let (stderr, their_stderr) = match program.stderr {
        Stderr::Merge => (None, their_output.try_clone()?),
        Stderr::Pipe => output_pipe().map(|(ours, theirs)| (Some(ours), theirs))?,
        Stderr::Null => (None, null()?),
    };
    Ok((Streams { stdin, output, stderr }, vec![their_stdin, their_output, their_stderr]))
}

fn output_pipe() -> io::Result<(Output, OwnedFd)> {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
    Ok((Output::from_owned_fd(read)?, write))
}

fn input_pipe() -> io::Result<(Input, OwnedFd)> {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
    Ok((Input::from_owned_fd(write)?, read))
}

fn null() -> io::Result<OwnedFd> {
    Ok(OpenOptions::new().read(true).write(true).open("/dev/null")?.into())
}
