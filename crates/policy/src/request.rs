//! What a tool call would do.

use std::path::PathBuf;

use crate::address::WebAddress;
use crate::pattern::FoldedPath;
use crate::shell::SimpleCommand;

/// A tool call, as far as permission is concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionRequest {
    /// The tool's name.
    pub tool: String,
    /// Everything it would do.
    pub acts: Vec<RequestedAct>,
}

/// One thing that a call would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestedAct {
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
        /// What the file system tells of it.
        facts: FilesystemFacts,
    },
    /// Get a page from this address.
    Fetch(String),
    /// Start an agent of this type.
    Agent(String),
    /// Nothing beyond the session's own state.
    Session,
    /// Something that only rules on the tool's name know.
    Other,
}

/// What the file system tells of a shell command before it runs. What nobody looked up is false.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FilesystemFacts {
    /// Every path that its words name lies in the workspace, and so does no program of theirs.
    pub inside: bool,
    /// Nothing that controls Bosun lies below one of those paths.
    pub no_controls_below: bool,
    /// The settings and hooks of the repository name no program that git would run to look at it.
    pub plain_repository: bool,
    /// It names or enters a folder that git would take for a repository, though nobody said that it is one.
    pub hidden_repository: bool,
}

/// One thing to decide about: an act, or a part of a shell command.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RequestPart<'a> {
    /// One simple command, and whether it is all there is.
    Command(&'a SimpleCommand, CommandScope),
    /// One that only looks at files of the workspace, as a command of its line.
    ReadOnlyCommand(&'a SimpleCommand, CommandScope),
    /// A shell command, or a piece of one, that cannot be read.
    Unparsed,
    Read(&'a FoldedPath<'a>),
    /// A file that only the shell knows.
    ReadUnknown,
    Edit(&'a FoldedPath<'a>),
    EditUnknown,
    Fetch(&'a WebAddress),
    /// An agent of this type.
    Agent(&'a str),
    /// What only rules on the tool's name speak of.
    Other,
}

/// Whether a simple command is a whole command line, so that its words say everything about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommandScope {
    WholeLine,
    /// Others may change its folder, or feed it.
    PartOfLine,
}

impl RequestPart<'_> {
    /// Whether it may change something on this machine.
    pub(crate) fn may_change(&self) -> bool {
        match self {
            RequestPart::Command(..) | RequestPart::Unparsed | RequestPart::Edit(_) | RequestPart::EditUnknown => true,
            RequestPart::ReadOnlyCommand(..)
            | RequestPart::Read(_)
            | RequestPart::ReadUnknown
            | RequestPart::Fetch(_)
            | RequestPart::Agent(_)
            | RequestPart::Other => false,
        }
    }
}
