//! Whether a checkout is as it was when it was sealed: a look at the state of its files. To seal it again would read and
//! write more.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use crate::checkout::Checkout;
use crate::seal::looking_closely;
use crate::staging::Staging;
use crate::{Commit, Git, GitError, confine, verify};

impl Checkout {
    /// The index as it was when everything was sealed, where whoever works in the checkout does not write.
    pub(crate) fn sealed_index(&self) -> PathBuf {
        self.record.id.sealed_index(&self.root)
    }

    /// What can be told of the checkout's own index without reading it.
    pub(crate) fn own_index_state(&self) -> Option<String> {
        let found = fs::metadata(self.path.join(".git/index")).ok()?;
        let time = (found.ctime(), found.ctime_nsec());
        Some(format!("{}:{} {} {}.{}", found.dev(), found.ino(), found.len(), time.0, time.1))
    }

    /// Keeps what is needed to see later that nothing changed, if everything was sealed.
    pub(crate) fn keep_state(&mut self, staging: Staging, own: Option<String>) -> Result<(), GitError> {
        self.record.state = own;
        if self.record.state.is_some() { staging.keep(&self.sealed_index()) } else { Ok(()) }
    }

    /// Whether all that is in it was sealed, and nothing has changed since.
    pub(crate) async fn is_as_sealed(&self) -> Result<bool, GitError> {
        let (Some(sealed), Some(state)) = (&self.record.sealed, &self.record.state) else { return Ok(false) };
        self.expect_in_place()?;
        let own = self.own_index_state();
        if own.as_ref() != Some(state) || self.has_modules() || !verify::is_own(&self.git, &self.path).await {
            return Ok(false);
        }
        let head = self.keep_commits().await?;
        let outer = looking_closely(confine::confine(self.outer(), confine::Unfiltered::Refused).await?.git);
        let (parent, _remark) = self.parent(&outer, head).await?;
        if !stands_on(&outer, sealed, &parent).await? {
            return Ok(false);
        }
        Staging::is_unchanged(&outer, &self.path, &self.sealed_index()).await
    }
}

/// Whether a sealed commit is what would be sealed on top of this one now.
async fn stands_on(outer: &Git, sealed: &Commit, parent: &Commit) -> Result<bool, GitError> {
    if sealed == parent {
        return Ok(true);
    }
    let said = outer.run(&["rev-parse", &format!("{sealed}^@")], &[]).await?;
    Ok(said.code == 0 && said.text().lines().eq([parent.as_str()]))
}
