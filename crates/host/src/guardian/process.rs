//! A running program as its starter sees it.

use tokio::net::unix::pipe;
use tokio::sync::oneshot;

use super::error::WaitError;
use super::link::GuardianHandle;
use super::program::{ExitGrace, KillMode, ProgramExit};
use super::wire::JobId;

/// What a program writes, to be read.
pub type ProcessOutput = pipe::Receiver;
/// What a program reads, to be written; dropping it is the end of the program's input.
pub type ProcessInput = pipe::Sender;

/// A program that was started. The parts can be taken apart and used by different hands.
#[derive(Debug)]
pub struct Process {
    /// Its input, if that is a pipe.
    pub stdin: Option<ProcessInput>,
    /// Its output, with its complaints in it if those are merged.
    pub output: ProcessOutput,
    /// Its complaints, if those are a pipe.
    pub stderr: Option<ProcessOutput>,
    /// Its life.
    pub job: Job,
}

impl Process {
    /// The number of its first process.
    pub fn pid(&self) -> u32 {
        self.job.pid()
    }

    /// Waits for its end; see [`Job::wait`].
    pub async fn wait(&mut self) -> Result<ProgramExit, WaitError> {
        self.job.wait().await
    }

    /// Ends it; see [`Job::kill`].
    pub fn kill(&self, how: KillMode) {
        self.job.kill(how);
    }
}

/// The life of a started program, with every process that it starts itself. Dropping it kills them all, those of a
/// program with [`ExitGrace::Patient`] only if they do not end when they are asked to.
#[derive(Debug)]
pub struct Job {
    id: JobId,
    pid: u32,
    link: GuardianHandle,
    parting: ExitGrace,
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
        Job { id, pid: 0, link, parting, state: JobState::Running(exited) }
    }

    pub(super) fn started(&mut self, pid: u32) {
        self.pid = pid;
    }

    /// The number of its first process.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Waits until its first process has ended and what that left behind is gone. May be dropped and called
    /// again; the answer stays the same.
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
    pub fn kill(&self, how: KillMode) {
        match self.state {
            JobState::Running(_) => self.link.kill(self.id, how),
            JobState::Ended(_) => {}
        }
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        self.kill(match self.parting {
            ExitGrace::Brief => KillMode::Now,
            ExitGrace::Patient => KillMode::Gentle,
        });
    }
}
