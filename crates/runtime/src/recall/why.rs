//! Why a todo is done again.

use std::fmt;

use protocol::TodoId;

/// Why a todo is done again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// Nobody ever did it.
    Never,
    /// It was done in other words, by another agent or model, or after other results.
    Recipe,
    /// What it depends on is done again.
    Upstream(TodoId),
    /// Files that it declares have changed since: those of these patterns.
    Files(Vec<String>),
    /// It declares no files, and something in the workspace has changed since.
    Workspace,
    /// The run that did it had no end, so nobody knows how it left the files.
    Unended,
    /// Its work was never merged, and the commit that held it is gone, or is built on what is done anew.
    WorkGone,
    /// Somebody opened it again.
    Reopened,
    /// Nobody is to remember anything.
    Fresh,
    /// What it was done with cannot be known, for this reason.
    Unknown(String),
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Never => f.write_str("never done"),
            Why::Recipe => f.write_str("definition changed"),
            Why::Upstream(todo) => write!(f, "{todo} runs again"),
            Why::Files(patterns) => write!(f, "files changed: {}", patterns.join(", ")),
            Why::Workspace => f.write_str("files changed, and it declares none of its own"),
            Why::Unended => f.write_str("the run that did it was broken off"),
            Why::WorkGone => f.write_str("the commit with its work cannot be used any more"),
            Why::Reopened => f.write_str("opened again"),
            Why::Fresh => f.write_str("everything is done afresh"),
            Why::Unknown(reason) => f.write_str(reason),
        }
    }
}
