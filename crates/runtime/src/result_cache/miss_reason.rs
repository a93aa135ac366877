//! Why a todo is done again.

use std::fmt;

use protocol::TodoId;

/// Why a todo is done again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CacheMissReason {
    /// Nobody ever did it.
    NeverDone,
    /// It was done in other words, by another agent or model, or after other results.
    KeyChanged,
    /// What it depends on is done again.
    Upstream(TodoId),
    /// Files that it declares have changed since: those of these patterns.
    FilesChanged(Vec<String>),
    /// It declares no files, and something in the workspace has changed since.
    WorkspaceChanged,
    /// The run that did it had no end, so nobody knows how it left the files.
    RunUnfinished,
    /// Its work was never merged, and the commit that held it is gone, or is built on what is done anew.
    CommitGone,
    /// Somebody opened it again.
    Reopened,
    /// Nobody is to remember anything.
    CacheDisabled,
    /// What it was done with cannot be known, for this reason.
    Unknown(String),
}

impl fmt::Display for CacheMissReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CacheMissReason::NeverDone => f.write_str("never done"),
            CacheMissReason::KeyChanged => f.write_str("definition changed"),
            CacheMissReason::Upstream(todo) => write!(f, "{todo} runs again"),
            CacheMissReason::FilesChanged(patterns) => write!(f, "files changed: {}", patterns.join(", ")),
            CacheMissReason::WorkspaceChanged => f.write_str("files changed, and it declares none of its own"),
            CacheMissReason::RunUnfinished => f.write_str("the run that did it was broken off"),
            CacheMissReason::CommitGone => f.write_str("the commit with its work cannot be used any more"),
            CacheMissReason::Reopened => f.write_str("opened again"),
            CacheMissReason::CacheDisabled => f.write_str("everything is done afresh"),
            CacheMissReason::Unknown(reason) => f.write_str(reason),
        }
    }
}
