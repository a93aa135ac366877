//! What a tool call would do.

use std::path::PathBuf;

/// A tool call, as far as permission is concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The tool's name.
    pub tool: String,
    /// Everything it would do.
    pub acts: Vec<Act>,
}

/// One thing that a call would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// Look at a file, or through a folder; the path is absolute and without links.
    Read(PathBuf),
    /// Make, change or remove a file; the path is absolute and without links.
    Edit(PathBuf),
    /// Run a shell command.
    Shell {
        /// What the shell reads.
        command: String,
        /// The folder it starts in.
        cwd: PathBuf,
    },
    /// Get a page from this address.
    Fetch(String),
    /// Nothing beyond the session's own state.
    Session,
    /// Something that only rules on the tool's name know.
    Other,
}
