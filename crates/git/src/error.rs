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
    /// There is no repository.
    #[error("{} is in no git repository; run `git init` and commit there, or work without isolation", .0.display())]
    NoRepository(PathBuf),
    /// The repository has no files of its own.
    #[error("{} is a bare repository; work in a clone of it that has files", .0.display())]
    Bare(PathBuf),
    /// The repository has no commit.
    #[error("{} has no commit yet; commit something first", .0.display())]
    Unborn(PathBuf),
    /// There is no such commit.
    #[error("`{name}` is not a commit of {}; `git log` shows those there are", .repository.display())]
    NoCommit {
        /// What was looked for.
        name: String,
        /// Where.
        repository: PathBuf,
    },
    /// A place that must be free is taken.
    #[error("{} exists already and is not touched; move it away", .0.display())]
    Taken(PathBuf),
    /// A checkout is not what it must be.
    #[error("the checkout {} cannot be used: {why}", .path.display())]
    Unfit {
        /// Where it is.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// There is an unfinished merge.
    #[error("{} has an unfinished merge ({}); resolve it or run `git merge --abort` there", .path.display(), .files.join(", "))]
    Unmerged {
        /// Where.
        path: PathBuf,
        /// The first files that are not merged.
        files: Vec<String>,
    },
    /// Somebody works in the checkout.
    #[error("a task of process {pid} may still work in {}; end its session first", .path.display())]
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
        /// What the system said.
        said: String,
    },
}

impl GitError {
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> GitError {
        let path = path.into();
        move |error| GitError::File { path, said: error.to_string() }
    }
}
