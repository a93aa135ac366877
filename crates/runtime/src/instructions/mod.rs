//! Instruction files: those of the user, then those of the project from its top down to the working folder, under the
//! names that the common coding agents use.
//!
//! A project's files are read before the user has trusted it. So they are opened below its top without following links
//! out of it, and only if they belong to the user or to the owner of the project. The same holds for their imports,
//! which must also comply with the rules on reading. Folders above the project are not read: they may belong to another
//! user.

mod imports;
mod open;
mod read;
mod scoped;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

pub use read::Instructions;

/// The places that are searched for instruction files.
#[derive(Clone, Copy)]
#[expect(missing_debug_implementations, reason = "functions have no Debug output")]
pub struct InstructionPlaces<'a> {
    /// The working folder, with links resolved.
    pub cwd: &'a Path,
    /// The project's top folder, with links resolved.
    pub project_dir: &'a Path,
    /// Bosun's home.
    pub home: &'a Path,
    /// The user's home folder.
    pub user_home: Option<&'a Path>,
    /// Whether rules permit reading a project file that another file imports or links to.
    pub may_read: &'a dyn Fn(&Path) -> bool,
}

/// One instruction file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstructionFile {
    /// Its path.
    pub path: PathBuf,
    /// The files that it applies to, as patterns; all when absent.
    pub scope: Option<String>,
    /// Its text, clipped.
    pub text: String,
}

/// A notice to the user about an instruction file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstructionNotice {
    /// The file.
    pub path: PathBuf,
    /// The problem.
    pub text: String,
}
