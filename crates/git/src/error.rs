//! Why a git operation failed.

use std::path::PathBuf;

/// Why a git operation failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GitError {
    /// Git could not be started.
    #[error("git cannot be started: {0}; install git 2.38 or newer")]
    Unavailable(String),
    /// A git command failed.
    #[error("`git {command}` failed in {}: {said}", .folder.display())]
    Failed {
        /// The command.
        command: String,
        /// The folder.
        folder: PathBuf,
        /// Its error output.
        said: String,
    },
    /// Git took too long.
    #[error("`git {command}` took longer than {seconds} s in {} and was stopped", .folder.display())]
    TooLong {
        /// The command.
        command: String,
        /// The folder.
        folder: PathBuf,
        /// The time limit.
        seconds: u64,
    },
    /// There is no repository.
    #[error("{} is not in a git repository; run `git init` and commit there, or work without isolation", .0.display())]
    NoRepository(PathBuf),
    /// The repository is bare.
    #[error("{} is a bare repository; work in a clone of it that has files", .0.display())]
    Bare(PathBuf),
    /// The repository has no commit.
    #[error("{} has no commit yet; commit something first", .0.display())]
    Unborn(PathBuf),
    /// There is no such commit.
    #[error("`{name}` is not a commit of {}; `git log` lists them", .repository.display())]
    NoCommit {
        /// The name.
        name: String,
        /// The folder.
        repository: PathBuf,
    },
    /// A path that must be free exists.
    #[error("{} already exists; move it away", .0.display())]
    Taken(PathBuf),
    /// A checkout is not valid.
    #[error("the checkout {} cannot be used: {why}", .path.display())]
    Unfit {
        /// Its path.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// There is an unfinished merge.
    #[error("{} has an unfinished merge ({}); resolve it or run `git merge --abort` there", .path.display(), .files.join(", "))]
    Unmerged {
        /// The folder.
        path: PathBuf,
        /// The first unmerged files.
        files: Vec<String>,
    },
    /// Another process uses the checkout.
    #[error("a task of process {pid} may still be working in {}; end its session first", .path.display())]
    InUse {
        /// The checkout.
        path: PathBuf,
        /// The process.
        pid: u32,
    },
    /// A file of ours could not be read, written or moved.
    #[error("{} cannot be used: {said}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        said: String,
    },
}

impl GitError {
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> GitError {
        let path = path.into();
        move |error| GitError::File { path, said: error.to_string() }
    }
}
