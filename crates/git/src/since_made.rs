//! Finds changes in a large checkout since git wrote its files, by one walk, so that git need not examine each file.
//!
//! Many builds of git store times in seconds. Each time, they read every file again that was written in the second of
//! its index or later: in a large checkout that would be many files. Therefore the index that we keep has the time of
//! the next second, and entries of files that changed until then are reset in it.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, FileTimes};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use host::{FileChange, FileChanges, FileMoment};

use crate::checkout::Checkout;
use crate::staging::{OwnIndex, StagingIndex};
use crate::{Git, GitError};

/// The size of an index from which a walk is faster than reading files again.
const LARGE_INDEX_BYTES: u64 = 4 << 20;
const SECOND: Duration = Duration::from_secs(1);

/// Maximum bytes of file names that are passed to git one by one.
const MAX_NAME_BYTES: usize = 64 << 10;

impl Checkout {
    /// Keeps the index that git wrote with the files.
    pub(crate) fn keep_made_index(&self) -> Result<(), GitError> {
        let (own, made) = (self.path().join(".git/index"), self.made_index());
        fs::copy(&own, &made).map_err(GitError::file(&made))?;
        let date = || {
            let written = fs::metadata(&own)?;
            let file = fs::File::options().write(true).open(&made)?;
            if !is_large(&own) {
                return file.set_modified(written.modified()?);
            }
            let until_next_second = SECOND.saturating_sub(Duration::from_nanos(written.mtime_nsec().unsigned_abs()));
            file.set_times(FileTimes::new().set_modified(written.modified()? + until_next_second))?;
            self.record.id.write_made(&self.session_dir, &FileMoment::from_change_time(&file.metadata()?))
        };
        date().map_err(GitError::file(&made))
    }

    /// The changes since its files were written, if it is large and they can be determined.
    pub(crate) async fn changes_since_made(&self) -> Option<FileChanges> {
        if !is_large(&self.made_index()) {
            return None;
        }
        let since = self.record.id.read_made(&self.session_dir)?;
        let path = self.path.clone();
        let find_changes = move || host::changed_since(&path, OsStr::new(".git"), &since, MAX_NAME_BYTES);
        let found = tokio::task::spawn_blocking(find_changes).await;
        found.unwrap_or_else(|stopped| Err(io::Error::other(stopped))).unwrap_or_else(|error| {
            tracing::info!(path = %self.path.display(), %error, "cannot determine the changes in a checkout");
            None
        })
    }

    /// A temporary index with the files as git wrote them.
    pub(crate) async fn stage_made(&self, git: Git, changes: Option<&FileChanges>) -> Result<StagingIndex, GitError> {
        let scratch = self.session_dir.join(format!("{}.index", self.record.id.task));
        match changes.is_none() && is_large(&self.made_index()) {
            // Git would miss changes in the second in which it was written.
            true => StagingIndex::from_commit(git, &scratch, self.base()).await,
            false => StagingIndex::from_copy(git, &self.made_index(), &scratch, self.base()).await,
        }
    }

    /// Adds all files to the index.
    pub(crate) async fn stage(
        &self,
        staging: &StagingIndex,
        own: OwnIndex,
        changes: Option<&FileChanges>,
    ) -> Result<(), GitError> {
        let Some(changes) = changes else { return staging.add_all(&self.path).await };
        staging.reset_states(&self.changed_before_index(changes)?).await?;
        match own {
            OwnIndex::Same => self.stage_changes(staging, changes).await,
            OwnIndex::Different | OwnIndex::LeavesOut => staging.add_all(&self.path).await,
        }
    }

    /// The files that changed before the time of the index.
    fn changed_before_index<'a>(&self, changes: &'a FileChanges) -> Result<Vec<&'a Path>, GitError> {
        let made = fs::metadata(self.made_index()).map_err(GitError::file(self.made_index()))?;
        let is_early =
            |change: &&FileChange| !change.is_folder && change.changed_at < (made.mtime(), made.mtime_nsec());
        Ok(changes.all.iter().filter(is_early).map(|change| change.path.as_path()).collect())
    }

    async fn stage_changes(&self, staging: &StagingIndex, changes: &FileChanges) -> Result<(), GitError> {
        let paths = self.affected_paths(changes).await?;
        if changes.has_repositories || paths.iter().map(|path| path.as_os_str().len()).sum::<usize>() > MAX_NAME_BYTES {
            return staging.add_all(&self.path).await;
        }
        match staging.add(&self.path, &paths).await {
            Err(error) => {
                tracing::info!(path = %self.path.display(), %error, "git examines every file of a checkout");
                staging.add_all(&self.path).await
            }
            Ok(()) => Ok(()),
        }
    }

    /// The changed files, and the folders whose entries may have changed.
    async fn affected_paths(&self, changes: &FileChanges) -> Result<BTreeSet<PathBuf>, GitError> {
        let (top, below): (Vec<&FileChange>, Vec<&FileChange>) =
            changes.all.iter().partition(|change| change.path.as_os_str().is_empty());
        let mut paths: BTreeSet<PathBuf> = below.into_iter().map(|change| change.path.clone()).collect();
        if !top.is_empty() {
            paths.extend(self.top_level_changes().await?);
        }
        Ok(paths)
    }

    /// The names at the top that are new or gone. A file moved onto an existing name counts as changed itself.
    async fn top_level_changes(&self) -> Result<Vec<PathBuf>, GitError> {
        let output =
            self.user_repository().run_checked(&["ls-tree", "--name-only", "-z", self.base().as_str()], &[]).await?;
        let names = output.stdout.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        let mut gone: BTreeSet<OsString> = names.map(|name| OsStr::from_bytes(name).to_owned()).collect();
        let mut paths = Vec::new();
        for entry in fs::read_dir(&self.path).map_err(GitError::file(&self.path))? {
            let name = entry.map_err(GitError::file(&self.path))?.file_name();
            if !gone.remove(&name) && name != ".git" {
                paths.push(name.into());
            }
        }
        paths.extend(gone.into_iter().map(PathBuf::from));
        Ok(paths)
    }
}

/// Whether an index lists very many files.
pub(crate) fn is_large(index: &Path) -> bool {
    fs::metadata(index).is_ok_and(|metadata| metadata.len() >= LARGE_INDEX_BYTES)
}
