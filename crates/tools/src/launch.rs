//! The one way a shell command is started and followed, in the foreground and in the background.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use host::{Exit, Guardian, Process, Program, SpawnError, WaitError};
use tokio::io::AsyncReadExt;

use crate::ToolError;

/// A command and where it runs.
#[derive(Debug, Clone, Copy)]
pub struct ShellCommand<'a> {
    /// What the shell reads.
    pub command: &'a str,
    /// The folder it starts in.
    pub cwd: &'a Path,
    /// Its whole environment.
    pub env: &'a [(OsString, OsString)],
}

/// Starts a command without input, its complaints merged into its output. Dropping the process kills all of it.
pub async fn launch(guardian: &Guardian, command: ShellCommand<'_>) -> Result<Process, ToolError> {
    check(command.command)?;
    let mut program = Program::new(shell(), command.cwd).args(["-c", command.command]);
    program.env = command.env.to_vec();
    guardian.spawn(program).await.map_err(|error| match error {
        SpawnError::TooLarge => ToolError::refused("`command` is too long; write it into a script file and run that"),
        SpawnError::ProgramMissing(_) | SpawnError::DirectoryMissing(_) | SpawnError::Forbidden(_) => {
            ToolError::Refused(error.to_string())
        }
        SpawnError::Unavailable(_) | SpawnError::Failed { .. } => ToolError::broken(error),
    })
}

/// Refuses what no shell takes.
pub(crate) fn check(command: &str) -> Result<(), ToolError> {
    if command.trim().is_empty() {
        return Err(ToolError::refused("`command` is empty"));
    }
    if command.contains('\0') {
        return Err(ToolError::refused("`command` holds a NUL character, which no shell takes"));
    }
    Ok(())
}

/// How long output may still come after a command's end; only a stranger to its tree can hold the pipe longer.
const LINGER: Duration = Duration::from_secs(1);
const BUFFER: usize = 16 * 1024;

/// Reads a command's output to its end and waits for its exit. May be dropped and called again to go on.
pub async fn follow(process: &mut Process, mut sink: impl FnMut(&[u8])) -> Result<Exit, WaitError> {
    let mut buffer = vec![0; BUFFER];
    let Process { output, job, .. } = process;
    let exit = loop {
        tokio::select! {
            read = output.read(&mut buffer) => match read {
                Ok(count) if count > 0 => sink(&buffer[..count]),
                Ok(_) | Err(_) => return job.wait().await,
            },
            exit = job.wait() => break exit?,
        }
    };
    let rest = async {
        while let Ok(count) = output.read(&mut buffer).await
            && count > 0
        {
            sink(&buffer[..count]);
        }
    };
    // The command has ended; running out of time here is no failure.
    let _: Result<(), _> = tokio::time::timeout(LINGER, rest).await;
    Ok(exit)
}

fn shell() -> PathBuf {
    let bash = Path::new("/bin/bash");
    if bash.exists() { bash.to_owned() } else { PathBuf::from("/bin/sh") }
}
