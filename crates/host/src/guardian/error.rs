//! Why a program did not start, or why its exit status is unknown.

use std::path::PathBuf;

use super::program::Program;
use super::wire::SpawnFault;

/// Why a program did not start. None of its processes runs.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// There is no such program, or the interpreter in its first line is missing.
    #[error("program `{0}` was not found; check its name, its first line and PATH")]
    ProgramMissing(String),
    /// The working directory is gone, or is not a folder.
    #[error("working directory {} does not exist; choose another one", .0.display())]
    DirectoryMissing(PathBuf),
    /// The program may not be executed, or its folder may not be entered.
    #[error("no permission for {}; check its mode and its owner", .0.display())]
    Forbidden(PathBuf),
    /// The arguments and variables exceed the system's limit.
    #[error("the command is too long for this system; put its long argument into a file or on standard input")]
    TooLarge,
    /// The guardian cannot be started, or died before it replied.
    #[error("the guardian process is not available; try again: {0}")]
    Unavailable(String),
    /// Anything else.
    #[error("cannot start `{program}`: {text}")]
    Failed {
        /// The program.
        program: String,
        /// The system's error.
        text: String,
    },
}

impl SpawnError {
    pub(super) fn new(program: &Program, fault: SpawnFault, text: String) -> SpawnError {
        let name = || program.program.to_string_lossy().into_owned();
        match fault {
            SpawnFault::ProgramMissing => SpawnError::ProgramMissing(name()),
            SpawnFault::DirectoryMissing => SpawnError::DirectoryMissing(program.cwd.clone()),
            SpawnFault::DirectoryForbidden => SpawnError::Forbidden(program.cwd.clone()),
            SpawnFault::ProgramForbidden => SpawnError::Forbidden(program.program.clone().into()),
            SpawnFault::TooLarge => SpawnError::TooLarge,
            SpawnFault::Other => SpawnError::Failed { program: name(), text },
        }
    }
}

/// Why the exit status of a program is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WaitError {
    /// The guardian died, and the program was killed with it.
    #[error("the guardian process died, and the program was killed; its exit status is unknown")]
    GuardianDied,
}

/// Processes that did not end although they were killed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("still running although they were killed: processes {}", listed(.0))]
pub struct Survivors(pub Vec<u32>);

fn listed(pids: &[u32]) -> String {
    pids.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}
