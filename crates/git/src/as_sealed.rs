//! Checks whether a checkout is unchanged since it was sealed, by the state of its files. Sealing it again would read
//! and write more.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;

use host::FileMoment;
use serde::{Deserialize, Serialize};

use crate::checkout::Checkout;
use crate::{Commit, Git, GitError, verify};

/// The state needed to detect changes since a complete seal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SealedState {
    /// When sealing started to read the files.
    since: FileMoment,
    /// The metadata of the checkout's own index.
    index: String,
}

impl Checkout {
    /// The state before sealing; none if there is no index. Changes from now on are detected later.
    pub(crate) fn state_before_seal(&self) -> Result<Option<SealedState>, GitError> {
        let mark = self.session_dir.join(format!("{}.mark", self.record.id.task));
        let written = fs::write(&mark, "").and_then(|()| fs::metadata(&mark)).and_then(|metadata| {
            fs::remove_file(&mark)?;
            Ok(FileMoment::from_change_time(&metadata))
        });
        let since = written.map_err(GitError::file(&mark))?;
        Ok(self.index_metadata().map(|index| SealedState { since, index }))
    }

    fn index_metadata(&self) -> Option<String> {
        let metadata = fs::metadata(self.path.join(".git/index")).ok()?;
        let time = (metadata.ctime(), metadata.ctime_nsec());
        Some(format!("{}:{} {} {}.{}", metadata.dev(), metadata.ino(), metadata.len(), time.0, time.1))
    }

    /// Whether everything in it was sealed, and nothing has changed since.
    pub(crate) async fn is_unchanged_since_seal(&self) -> Result<bool, GitError> {
        let (Some(sealed), Some(seen)) = (&self.record.sealed, &self.record.seen) else { return Ok(false) };
        self.check_no_link()?;
        let own = self.index_metadata();
        if own.as_ref() != Some(&seen.index)
            || self.has_modules()
            || !verify::is_own_repository(&self.git, &self.path).await
        {
            return Ok(false);
        }
        let head = self.pin_commits().await?;
        let outer = self.user_repository();
        let (parent, _remark) = self.seal_parent(&outer, head).await?;
        Ok(is_sealed_on(&outer, sealed, &parent).await? && self.is_untouched(seen.since.clone()).await?)
    }

    async fn is_untouched(&self, since: FileMoment) -> Result<bool, GitError> {
        let path = self.path.clone();
        let checked =
            tokio::task::spawn_blocking(move || host::is_unchanged_since(&path, OsStr::new(".git"), &since)).await;
        checked.unwrap_or_else(|join_error| Err(io::Error::other(join_error))).map_err(GitError::file(&self.path))
    }
}

/// Whether a sealed commit is what sealing on top of `parent` would give now.
async fn is_sealed_on(outer: &Git, sealed: &Commit, parent: &Commit) -> Result<bool, GitError> {
    if sealed == parent {
        return Ok(true);
    }
    let output = outer.run(&["rev-parse", &format!("{sealed}^@")], &[]).await?;
    Ok(output.code == 0 && output.run_for_text().lines().eq([parent.as_str()]))
}
