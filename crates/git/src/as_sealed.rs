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
        let mark = self.root.join(format!("{}.mark", self.record.id.task));
        let written = fs::write(&mark, "").and_then(|()| fs::metadata(&mark)).and_then(|found| {
            fs::remove_file(&mark)?;
            Ok(FileMoment::of(&found))
        });
        let since = written.map_err(GitError::file(&mark))?;
        Ok(self.own_index().map(|index| SealedState { since, index }))
    }

    fn own_index(&self) -> Option<String> {
        let found = fs::metadata(self.path.join(".git/index")).ok()?;
        let time = (found.ctime(), found.ctime_nsec());
        Some(format!("{}:{} {} {}.{}", found.dev(), found.ino(), found.len(), time.0, time.1))
    }

    /// Whether everything in it was sealed, and nothing has changed since.
    pub(crate) async fn is_as_sealed(&self) -> Result<bool, GitError> {
        let (Some(sealed), Some(seen)) = (&self.record.sealed, &self.record.seen) else { return Ok(false) };
        self.expect_in_place()?;
        let own = self.own_index();
        if own.as_ref() != Some(&seen.index) || self.has_modules() || !verify::is_own(&self.git, &self.path).await {
            return Ok(false);
        }
        let head = self.keep_commits().await?;
        let outer = self.outer();
        let (parent, _remark) = self.parent(&outer, head).await?;
        Ok(is_sealed_on(&outer, sealed, &parent).await? && self.is_untouched(seen.since.clone()).await?)
    }

    async fn is_untouched(&self, since: FileMoment) -> Result<bool, GitError> {
        let path = self.path.clone();
        let checked = tokio::task::spawn_blocking(move || host::is_untouched(&path, OsStr::new(".git"), &since)).await;
        checked.unwrap_or_else(|stopped| Err(io::Error::other(stopped))).map_err(GitError::file(&self.path))
    }
}

/// Whether a sealed commit is what sealing on top of `parent` would give now.
async fn is_sealed_on(outer: &Git, sealed: &Commit, parent: &Commit) -> Result<bool, GitError> {
    if sealed == parent {
        return Ok(true);
    }
    let output = outer.run(&["rev-parse", &format!("{sealed}^@")], &[]).await?;
    Ok(output.code == 0 && output.text().lines().eq([parent.as_str()]))
}
