//! Why something about a repository did not work.

use std::path::PathBuf;

/// Why something about a repository did not work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GitError {
    /// Git could not be started.
    #[error("git cannot be started: {0}; install git 2.38 or newer")]
    Unavailable(String),
    /// Git did not do it.
    #[error("`git {command}` failed in {}: {said}", .folder.display())]
    Failed {
        /// What it was asked to do.
        command: String,
        /// Where.
        folder: PathBuf,
        /// What it said.
        said: String,
    },
    /// Git took too long.
    #[error("`git {command}` took longer than {seconds} s in {} and was stopped", .folder.display())]
    TooLong {
        /// What it was asked to do.
        command: String,
        /// Where.
        folder: PathBuf,
        /// How long it had.
        seconds: u64,
    },
    /// A folder of our own cannot be used.
    #[error("cannot use {}: {said}", .folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// Why.
        said: String,
    },
}
