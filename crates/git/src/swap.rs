//! Prepares the new files and the new index of a landing, in a folder of ours on the same file system.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::land::LandError;
use crate::lease::claim;
use crate::leftover::clear_landings;
use crate::move_files::has_files;
use crate::staging::{PLAIN_SETTINGS, copy_index};
use crate::{Commit, Git, GitError, Repository};

/// The beginning of the folder's name.
const NAME: &str = "bosun-landing";

/// How many folders may remain from killed landings.
const MAX_FOLDERS: usize = 100;

/// The file in it that names the process using it.
pub(crate) const OWNER: &str = "owner";

/// The file in it with the index that is being installed.
pub(crate) const INSTALLED_INDEX: &str = "index.put";

/// New files and a new index.
#[derive(Debug)]
pub(crate) struct Swap {
    top: PathBuf,
    /// Our folder, below the top.
    aside: PathBuf,
    /// The user's index.
    index: PathBuf,
    /// The metadata that reveals a write to the user's index.
    index_stamp: Option<(u64, u64, i64, i64)>,
}

impl Swap {
    /// Writes the files in which the two commits differ, and the matching index.
    pub(crate) async fn prepare(repository: &Repository, from: &Commit, to: &Commit) -> Result<Swap, LandError> {
        if let Err(error) = clear_landings(repository).await {
            tracing::info!(%error, "cannot clean up after killed landings");
        }
        let top = repository.top().to_owned();
        let aside = create_landing_folder(repository)?;
        let index = repository.git_dir().join("index");
        let was = file_stamp(&index);
        let swap = Swap { top, aside, index, index_stamp: was };
        match swap.fill(repository, from, to).await {
            Ok(()) => Ok(swap),
            Err(error) => {
                swap.discard();
                Err(error)
            }
        }
    }

    /// Our folder, below the top.
    pub(crate) fn aside(&self) -> &Path {
        &self.aside
    }

    async fn fill(&self, repository: &Repository, from: &Commit, to: &Commit) -> Result<(), LandError> {
        claim(&self.folder().join(OWNER))?;
        let new = self.folder().join("new");
        for folder in [&new, &self.folder().join("old")] {
            fs::create_dir(folder).map_err(GitError::file(folder))?;
        }
        copy_index(&self.index, &self.new_index()).map_err(GitError::file(&self.index))?;
        copy_index(&self.index, &self.old_index()).map_err(GitError::file(&self.index))?;
        // In an empty folder, git writes exactly the files that differ, as it would write them in the work tree.
        let git =
            repository.git().in_folder(&new).with_env("GIT_DIR", repository.git_dir()).with_env("GIT_WORK_TREE", &new);
        let git = git.with_env("GIT_INDEX_FILE", self.new_index());
        let args = [&PLAIN_SETTINGS[..], &["read-tree", "-m", "-u", from.as_str(), to.as_str()]].concat();
        let output = git.run(&args, &[]).await?;
        match output.code {
            0 => Ok(()),
            _ => Err(LandError::CannotWrite(output.stderr.lines().take(20).collect::<Vec<_>>().join("; "))),
        }
    }

    /// Installs the new index, unless the user's index was written meanwhile.
    pub(crate) async fn install(&self, git: &Git) -> Result<(), LandError> {
        let own = git.clone().with_env("GIT_INDEX_FILE", self.new_index());
        own.run(&["update-index", "-q", "--refresh"], &[]).await?;
        if file_stamp(&self.index) != self.index_stamp {
            return Err(LandError::ChangedMeanwhile(vec!["the index (it was changed)".into()]));
        }
        self.install_index(&self.new_index()).map_err(LandError::Git)
    }

    /// Restores the user's old index.
    pub(crate) fn restore_index(&self) -> Result<(), GitError> {
        self.install_index(&self.old_index())
    }

    /// Installs an index as git does, under the lock. The lock is a hard link to a file in our folder, so that one left
    /// by a kill can be recognised as ours.
    fn install_index(&self, from: &Path) -> Result<(), GitError> {
        let lock = self.index.with_added_extension("lock");
        let put = || -> io::Result<()> {
            let bytes = fs::read(from)?;
            let own = self.folder().join(INSTALLED_INDEX);
            match fs::remove_file(&own) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                Ok(()) | Err(_) => {}
            }
            fs::write(&own, &bytes)?;
            match fs::hard_link(&own, &lock) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error),
                // Another file system, or one without hard links.
                Err(_cannot) => fs::File::options().write(true).create_new(true).open(&lock)?.write_all(&bytes)?,
            }
            fs::rename(&lock, &self.index)
        };
        put().map_err(GitError::file(&lock))
    }

    /// Removes the folder.
    pub(crate) fn discard(&self) {
        // Files that could not be restored stay.
        if !has_files(&self.folder().join("old")) {
            let removed = host::remove_below(&self.top, &self.aside).map(|_removed| ());
            match removed {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    tracing::info!(path = %self.aside.display(), %error, "cannot remove the landing folder");
                }
                Ok(()) | Err(_) => {}
            }
        }
    }

    fn folder(&self) -> PathBuf {
        self.top.join(&self.aside)
    }

    fn new_index(&self) -> PathBuf {
        self.folder().join("index")
    }

    fn old_index(&self) -> PathBuf {
        self.folder().join("index.old")
    }
}

/// The folders that landings may create on the file system of the work tree, below its top: in the repository, or, if
/// that is elsewhere, beside the files.
pub(crate) fn landing_folders(repository: &Repository) -> impl Iterator<Item = PathBuf> {
    let inside = repository.git_dir() == repository.top().join(".git");
    let (parent, dot) = if inside { (PathBuf::from(".git"), "") } else { (PathBuf::new(), ".") };
    (1..=MAX_FOLDERS).map(move |n| parent.join(format!("{dot}{NAME}-{n}")))
}

/// Creates a folder of our own.
fn create_landing_folder(repository: &Repository) -> Result<PathBuf, GitError> {
    for aside in landing_folders(repository) {
        match fs::create_dir(repository.top().join(&aside)) {
            Ok(()) => return Ok(aside),
            // A killed landing left it, with the files it had moved away.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(GitError::file(repository.top().join(&aside))(error)),
        }
    }
    Err(GitError::Taken(repository.top().join(landing_folders(repository).last().unwrap_or_default())))
}

fn file_stamp(path: &Path) -> Option<(u64, u64, i64, i64)> {
    let metadata = fs::symlink_metadata(path).ok()?;
    Some((metadata.ino(), metadata.size(), metadata.mtime(), metadata.mtime_nsec()))
}
