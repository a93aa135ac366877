//! A running program as its caller sees it.

use tokio::net::unix::pipe;
use tokio::sync::oneshot;

use super::error::WaitError;
use super::link::GuardianHandle;
use super::program::{ExitGrace, KillMode, ProgramExit};
use super::wire::JobId;

/// The read end of a program's output.
pub type ProcessOutput = pipe::Receiver;
/// The write end of a program's input; dropping it ends the input.
pub type ProcessInput = pipe::Sender;

/// A started program. Its parts can be used separately.
#[derive(Debug)]
pub struct Process {
    /// Its input, if that is a pipe.
    pub stdin: Option<ProcessInput>,
    /// Its standard output, with its standard error if those are merged.
    pub output: ProcessOutput,
    /// Its standard error, if that is a pipe.
    pub stderr: Option<ProcessOutput>,
    /// The job that controls it.
    pub job: Job,
}

impl Process {
    /// The id of its first process.
    pub fn pid(&self) -> u32 {
        self.job.pid()
    }

    /// Waits for its end; see [`Job::wait`].
    pub async fn wait(&mut self) -> Result<ProgramExit, WaitError> {
        self.job.wait().await
    }

    /// Ends it; see [`Job::kill`].
    pub fn kill(&self, mode: KillMode) {
        self.job.kill(mode);
    }
}

/// A started program with all its processes. Dropping it kills them all; with [`ExitGrace::Patient`] only after they
/// had time to end by themselves.
#[derive(Debug)]
pub struct Job {
    id: JobId,
    pid: u32,
    link: GuardianHandle,
    exit_grace: ExitGrace,
    state: JobState,
}

#[derive(Debug)]
enum JobState {
    Running(oneshot::Receiver<ProgramExit>),
    Ended(Result<ProgramExit, WaitError>),
}

impl Job {
    pub(super) fn new(
        id: JobId,
        link: GuardianHandle,
        parting: ExitGrace,
        exited: oneshot::Receiver<ProgramExit>,
    ) -> Job {
        Job { id, pid: 0, link, exit_grace: parting, state: JobState::Running(exited) }
    }

    pub(super) fn set_pid(&mut self, pid: u32) {
        self.pid = pid;
    }

    /// The id of its first process.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Waits until its first process has ended and its leftovers are gone. The future may be dropped and the method
    /// called again; the result is the same.
    pub async fn wait(&mut self) -> Result<ProgramExit, WaitError> {
        match &mut self.state {
            JobState::Ended(end) => *end,
            JobState::Running(exited) => {
                let end = exited.await.map_err(|_| WaitError::GuardianDied);
                self.state = JobState::Ended(end);
                end
            }
        }
    }

    /// Ends all its processes. Does not wait, and does nothing if they have ended.
    pub fn kill(&self, mode: KillMode) {
        match self.state {
            JobState::Running(_) => self.link.kill(self.id, mode),
            JobState::Ended(_) => {}
        }
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        self.kill(match self.exit_grace {
            ExitGrace::Brief => KillMode::Now,
            ExitGrace::Patient => KillMode::Gentle,
        });
    }
}
