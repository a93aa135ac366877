//! What a tool call would do.

use std::path::PathBuf;

use shell_parser::SimpleCommand;

use crate::address::WebAddress;
use crate::pattern::FoldedPath;

/// A tool call, as far as permission is concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionRequest {
    /// The tool's name.
    pub tool: String,
    /// Everything it would do.
    pub acts: Vec<RequestedAct>,
}

/// One act of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestedAct {
    /// Read a file, or search a folder; the path is absolute and without links.
    Read(PathBuf),
    /// Create, change or remove a file; the path is absolute and without links.
    Edit(PathBuf),
    /// Run a shell command.
    Shell {
        /// The command line.
        command: String,
        /// The folder it starts in.
        cwd: PathBuf,
        /// What the file system shows about it.
        facts: FilesystemFacts,
    },
    /// Fetch a page from this address.
    Fetch(String),
    /// Start an agent of this type.
    Agent(String),
    /// Nothing beyond the session's own state.
    Session,
    /// Something that only rules for the tool's name can match.
    Other,
}

/// What the file system shows about a shell command before it runs. A fact that was not looked up is false.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FilesystemFacts {
    /// Every path that its words name is in the workspace, and its programs are not.
    pub inside: bool,
    /// No control is below one of those paths.
    pub no_controls_below: bool,
    /// The repository's settings and hooks name no program that git would run to read it.
    pub plain_repository: bool,
    /// It names or enters a folder that git would treat as a repository without having been set up as one.
    pub hidden_repository: bool,
}

/// A part of a call to decide about: an act, or a part of a shell command.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RequestPart<'a> {
    /// One simple command, and whether it is the whole line.
    Command(&'a SimpleCommand, CommandScope),
    /// One that only reads files of the workspace.
    ReadOnlyCommand(&'a SimpleCommand, CommandScope),
    /// A shell command, or a piece of one, that cannot be parsed.
    Unparsed,
    Read(&'a FoldedPath<'a>),
    /// A file that only the shell knows.
    ReadUnknown,
    Edit(&'a FoldedPath<'a>),
    EditUnknown,
    Fetch(&'a WebAddress),
    /// An agent of this type.
    Agent(&'a str),
    /// Something that only rules for the tool's name can match.
    Other,
}

/// Whether a simple command is a whole command line, so that its words determine everything it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommandScope {
    WholeLine,
    /// Other commands may change its folder or its input.
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
