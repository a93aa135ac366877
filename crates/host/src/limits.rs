//! The limit of open files: this process gets as many as the machine allows, while the programs that it starts get the
//! limits they would have had without it. Some of them iterate over every possible descriptor, or use calls that accept
//! only small numbers.

use std::io;
use std::sync::OnceLock;

use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit, setrlimit};

/// The limit of open files of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenFiles {
    /// The current limit; unlimited when absent.
    pub current_limit: Option<u64>,
    /// The maximum it could be raised to; unlimited when absent.
    pub max_limit: Option<u64>,
}

impl OpenFiles {
    /// The limits of this process.
    pub fn current() -> OpenFiles {
        let limit = getrlimit(Resource::Nofile);
        OpenFiles { current_limit: limit.current, max_limit: limit.maximum }
    }
}

/// The original limits of this process, once it has raised its own.
static ORIGINAL_LIMITS: OnceLock<(Option<u64>, Option<u64>)> = OnceLock::new();

/// Raises the limit of open files of this process to the maximum.
pub fn raise_open_files() -> io::Result<OpenFiles> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = current.zip(maximum).is_none_or(|(current, maximum)| current >= maximum);
    if !raised {
        setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })?;
        ORIGINAL_LIMITS.get_or_init(|| (current, maximum));
    }
    Ok(OpenFiles::current())
}

/// Gives a process that was just started, and so all its descendants, the original limits of this process.
pub(crate) fn restore_open_files(process: Pid) -> io::Result<()> {
    if let Some(&(current, maximum)) = ORIGINAL_LIMITS.get() {
        prlimit(Some(process), Resource::Nofile, Rlimit { current, maximum })?;
    }
    Ok(())
}
