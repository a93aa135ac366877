//! Programs to run, and how they ended.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A program to start. Its environment is exactly what is given here; nothing is inherited.
#[derive(Debug, Clone)]
pub struct Program {
    /// A path, or a name to look for in the `PATH` of `env`.
    pub program: OsString,
    /// Its arguments, without its own name.
    pub args: Vec<OsString>,
    /// The folder it starts in; absolute, since the guardian has a working directory of its own.
    pub cwd: PathBuf,
    /// Its complete environment.
    pub env: Vec<(OsString, OsString)>,
    /// Its standard input.
    pub stdin: Stdin,
    /// Its standard error.
    pub stderr: Stderr,
    /// The treatment of processes that outlive its first one.
    pub leftovers: Leftovers,
    /// How long it may take to end when its owner is gone.
    pub exit_grace: ExitGrace,
    /// Maximum bytes of memory of each of its processes; no limit when absent.
    pub max_memory_bytes: Option<u64>,
}

impl Program {
    /// A program without arguments and environment, whose standard error is merged into its output.
    pub fn new(program: impl Into<OsString>, cwd: impl Into<PathBuf>) -> Program {
        Program {
            program: program.into(),
            args: Vec::new(),
            cwd: cwd.into(),
            env: Vec::new(),
            stdin: Stdin::Null,
            stderr: Stderr::Merge,
            leftovers: Leftovers::Kill,
            exit_grace: ExitGrace::Brief,
            max_memory_bytes: None,
        }
    }

    /// Adds arguments.
    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = impl Into<OsString>>) -> Program {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Adds a variable to the environment.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Program {
        self.env.push((name.into(), value.into()));
        self
    }
}

/// A program's standard input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stdin {
    /// Nothing.
    Null,
    /// A pipe from the caller.
    Pipe,
}

/// A program's standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stderr {
    /// Merged into its output, in the order of writing.
    Merge,
    /// A separate pipe.
    Pipe,
    /// Discarded.
    Null,
}

/// The treatment of processes that outlive a program's first one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Leftovers {
    /// They are killed shortly after it, if they do not end by themselves.
    Kill,
    /// They keep running until the owner ends.
    Keep,
}

/// How long a program may take to end by itself after its owner is gone and it was asked to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ExitGrace {
    /// A fraction of a second.
    Brief,
    /// A few seconds: it holds locks in files of the user, and may be waiting for the disk.
    Patient,
}

/// How firmly a job is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum KillMode {
    /// Asked with SIGTERM, and killed two seconds later.
    Gentle,
    /// Killed.
    Now,
}

/// The end of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProgramExit {
    /// How its first process ended.
    pub status: ExitStatus,
    /// The number of processes that outlived it, and were killed or kept.
    pub leftovers: u32,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ExitStatus {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

impl ExitStatus {
    /// Whether the exit code is 0.
    pub fn is_success(self) -> bool {
        self == ExitStatus::Code(0)
    }
}

impl fmt::Display for ExitStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExitStatus::Code(code) => write!(f, "exit code {code}"),
            ExitStatus::Signal(signal) => write!(f, "killed by signal {signal}"),
        }
    }
}
