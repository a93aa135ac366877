//! Commits that hold the work of earlier runs.

use std::ffi::OsString;
use std::fmt;
use std::path::Path;

use git::{Commit, Git, GitError, Repository};
use host::Guardian;
use protocol::SessionId;
use tools::BoxFuture;

/// Knows which commits are there.
pub trait CommitPinner: Send + Sync + fmt::Debug {
    /// Whether the workspace's repository still has this commit and it is built on these; if so, nothing takes it away
    /// while it is used.
    fn pin_commit<'a>(&'a self, commit: &'a str, on: &'a [String]) -> BoxFuture<'a, bool>;
}

/// Knows of no commit: what was done in a checkout is done again.
#[derive(Debug, Clone, Copy)]
pub struct NoCommits;

impl CommitPinner for NoCommits {
    fn pin_commit<'a>(&'a self, _commit: &'a str, _on: &'a [String]) -> BoxFuture<'a, bool> {
        Box::pin(async { false })
    }
}

/// The commits of the repository that a session works in.
#[derive(Debug, Clone)]
pub(crate) struct RepositoryCommits {
    git: Git,
    session: SessionId,
}

impl RepositoryCommits {
    pub(crate) fn new(
        guardian: Guardian,
        folder: &Path,
        env: &[(OsString, OsString)],
        session: SessionId,
    ) -> RepositoryCommits {
        RepositoryCommits { git: Git::new(guardian, folder, env), session }
    }

    async fn pin(&self, commit: &str, on: &[String]) -> Result<bool, GitError> {
        let Some(commit) = Commit::new(commit) else { return Ok(false) };
        let repository = Repository::find(&self.git).await?;
        // First of all: what is not there cannot be pinned, and what is pinned stays.
        repository.pin(&format!("refs/bosun/{}/reused/{commit}", self.session), &commit).await?;
        for above in on {
            let Some(above) = Commit::new(above) else { return Ok(false) };
            if !git::holds(repository.git(), &commit, &above).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl CommitPinner for RepositoryCommits {
    fn pin_commit<'a>(&'a self, commit: &'a str, on: &'a [String]) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            self.pin(commit, on).await.unwrap_or_else(|error| {
                tracing::info!(commit, %error, "the work of an earlier run cannot be used");
                false
            })
        })
    }
}
