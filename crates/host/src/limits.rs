//! How many files this process may have open: as many as the machine lets it, while the programs that it starts get
//! what they would have had without it. Some of them walk over every possible descriptor, or use calls that take
//! small numbers only.

use std::io;
use std::sync::OnceLock;

use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit, setrlimit};

/// How many files this process may have open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenFiles {
    /// How many it may have now; any number when absent.
    pub now: Option<u64>,
    /// The most that it could raise that to; any number when absent.
    pub most: Option<u64>,
}

impl OpenFiles {
    /// What holds for this process.
    pub fn current() -> OpenFiles {
        let limit = getrlimit(Resource::Nofile);
        OpenFiles { now: limit.current, most: limit.maximum }
    }
}

/// The limits that this process was started with, once it has raised its own.
static BEFORE: OnceLock<(Option<u64>, Option<u64>)> = OnceLock::new();

/// Raises the number of files that this process may have open to the most that it is allowed.
pub fn raise_open_files() -> io::Result<OpenFiles> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = current.zip(maximum).is_none_or(|(current, maximum)| current >= maximum);
    if !raised {
        setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })?;
        BEFORE.get_or_init(|| (current, maximum));
    }
    Ok(OpenFiles::current())
}

/// Gives a process that was just started, and so everything it starts, the limits that this one was started with.
pub(crate) fn lower_open_files(process: Pid) -> io::Result<()> {
    if let Some(&(current, maximum)) = BEFORE.get() {
        prlimit(Some(process), Resource::Nofile, Rlimit { current, maximum })?;
    }
    Ok(())
}
