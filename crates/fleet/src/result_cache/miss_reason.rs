//! Why a todo has no reusable result.

use std::fmt;

use protocol::TodoId;

/// Why a todo has no reusable result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CacheMissReason {
    /// It was never done.
    NeverDone,
    /// It was done with another text, agent or model, or with other results of its dependencies.
    KeyChanged,
    /// This dependency is done again.
    Upstream(TodoId),
    /// Files that match these declared patterns have changed.
    FilesChanged(Vec<String>),
    /// It declares no files, and a file in the workspace has changed.
    WorkspaceChanged,
    /// The run that did it was interrupted, so the state of its files at the end is unknown.
    RunUnfinished,
    /// Its work was never merged, and its commit is gone or is based on work that is done again.
    CommitGone,
    /// It was reopened.
    Reopened,
    /// The cache is disabled.
    CacheDisabled,
    /// The cache could not be read, for this reason.
    Unknown(String),
}

impl fmt::Display for CacheMissReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CacheMissReason::NeverDone => f.write_str("never done"),
            CacheMissReason::KeyChanged => f.write_str("definition changed"),
            CacheMissReason::Upstream(todo) => write!(f, "{todo} runs again"),
            CacheMissReason::FilesChanged(patterns) => write!(f, "files changed: {}", patterns.join(", ")),
            CacheMissReason::WorkspaceChanged => f.write_str("files changed, and it declares no files"),
            CacheMissReason::RunUnfinished => f.write_str("the run that did it was interrupted"),
            CacheMissReason::CommitGone => f.write_str("the commit with its work is no longer usable"),
            CacheMissReason::Reopened => f.write_str("reopened"),
            CacheMissReason::CacheDisabled => f.write_str("the result cache is disabled"),
            CacheMissReason::Unknown(reason) => f.write_str(reason),
        }
    }
}
