//! Files that git would take for unchanged though somebody wrote to them.
//!
//! Many builds of git know times to the second. They read every file again, each time they look, that was written in the
//! second of its index or later: of a large checkout that would be a good part of the files. The index that we keep of it
//! has the time of the next second therefore, and what changed until then is looked for here.

use std::ffi::OsStr;
use std::fs::{self, FileTimes};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::checkout::Checkout;
use crate::staging::Staging;
use crate::{Git, GitError};

/// Bytes of an index whose files take longer to read again than to look at.
const LARGE: u64 = 4 << 20;
const SECOND: Duration = Duration::from_secs(1);

/// Most bytes of the names of files that are looked up in an index.
const MOST: usize = 64 << 10;

impl Checkout {
    /// Keeps the index that git wrote with the files.
    pub(crate) fn keep_index(&self) -> Result<(), GitError> {
        let (own, made) = (self.path().join(".git/index"), self.made_index());
        fs::copy(&own, &made).map_err(GitError::file(&made))?;
        let date = || {
            let written = fs::metadata(&own)?;
            let rest = SECOND.saturating_sub(Duration::from_nanos(written.mtime_nsec().unsigned_abs()));
            let more = if is_large(&own) { rest } else { Duration::ZERO };
            let times = FileTimes::new().set_modified(written.modified()? + more);
            fs::File::options().write(true).open(&made)?.set_times(times)
        };
        date().map_err(GitError::file(&made))
    }

    /// An index of our own that knows the files as git wrote them.
    pub(crate) async fn stage_made(&self, git: &Git) -> Result<Staging, GitError> {
        let scratch = self.root.join(format!("{}.index", self.record.id.task));
        match self.stage_known(git, &scratch).await {
            Err(error) => {
                tracing::info!(path = %self.path.display(), %error, "every file of a checkout is read again");
                Staging::of(git.clone(), &scratch, self.base()).await
            }
            staging => staging,
        }
    }

    async fn stage_known(&self, git: &Git, scratch: &Path) -> Result<Staging, GitError> {
        let staging = Staging::copied(git.clone(), &self.made_index(), scratch, self.base()).await?;
        let early = self.written_early().await.map_err(GitError::file(&self.path))?;
        staging.read_again(&early).await?;
        Ok(staging)
    }

    /// The files that changed between the moment when the index was kept and the time that it has.
    async fn written_early(&self) -> io::Result<Vec<PathBuf>> {
        let Ok(made) = fs::metadata(self.made_index()) else { return Ok(Vec::new()) };
        let during = (made.ctime(), made.ctime_nsec())..(made.mtime(), made.mtime_nsec());
        if during.is_empty() {
            return Ok(Vec::new());
        }
        let path = self.path.clone();
        let looked = tokio::task::spawn_blocking(move || host::changed_during(&path, OsStr::new(".git"), during)).await;
        let changed = looked.unwrap_or_else(|stopped| Err(io::Error::other(stopped)))?;
        match changed.iter().map(|path| path.as_os_str().len()).sum::<usize>() {
            0..=MOST => Ok(changed),
            _ => Err(io::Error::other("very many files changed as soon as it was made")),
        }
    }
}

/// Whether an index is that of very many files.
pub(crate) fn is_large(index: &Path) -> bool {
    fs::metadata(index).is_ok_and(|found| found.len() >= LARGE)
}
