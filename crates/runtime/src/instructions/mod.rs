//! Instruction files: those of the user, then those of the project from its top down to the working folder, in the names
//! of every program that people write them for.
//!
//! A project's files are read before anybody has trusted it. So they are opened below its top without following links
//! out of it, and only if they belong to the user or to whoever owns the project; what they import is held to the same,
//! and to the rules on reading. Folders above the project are not read: they may belong to somebody else.

mod imports;
mod open;
mod read;
mod scoped;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

pub use read::Instructions;

/// Where instruction files are looked for.
#[derive(Clone, Copy)]
#[expect(missing_debug_implementations, reason = "a question cannot be shown")]
pub struct InstructionPlaces<'a> {
    /// The working folder, without links.
    pub cwd: &'a Path,
    /// The project's top, without links.
    pub top: &'a Path,
    /// Bosun's own folder.
    pub home: &'a Path,
    /// The user's own folder.
    pub user: Option<&'a Path>,
    /// Whether rules let a file of the project be read that another one names or leads to.
    pub may_read: &'a dyn Fn(&Path) -> bool,
}

/// One instruction file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstructionFile {
    /// Where it is.
    pub path: PathBuf,
    /// The files that it is about, as patterns; all when absent.
    pub scope: Option<String>,
    /// What it says, clipped.
    pub text: String,
}

/// Something a person should know of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstructionNotice {
    /// The file.
    pub path: PathBuf,
    /// What is the matter, and what to do.
    pub text: String,
}
