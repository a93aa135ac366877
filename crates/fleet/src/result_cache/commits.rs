//! Commits with the work of earlier runs.

use std::fmt;

use git::{Commit, Git, GitError, Repository};
use protocol::SessionId;
use tools::BoxFuture;

/// Checks whether commits of earlier runs still exist, and keeps them from being removed.
pub trait CommitPinner: Send + Sync + fmt::Debug {
    /// Returns whether the workspace's repository still has this commit and the commit contains all `bases`. If so, the
    /// commit is kept while it is in use.
    fn pin_commit<'a>(&'a self, commit: &'a str, bases: &'a [String]) -> BoxFuture<'a, bool>;
}

/// Finds no commits, so work in checkouts is done again.
#[derive(Debug, Clone, Copy)]
pub struct NoCommits;

impl CommitPinner for NoCommits {
    fn pin_commit<'a>(&'a self, _commit: &'a str, _bases: &'a [String]) -> BoxFuture<'a, bool> {
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
    pub(crate) fn new(git: Git, session: SessionId) -> RepositoryCommits {
        RepositoryCommits { git, session }
    }

    async fn pin(&self, commit: &str, bases: &[String]) -> Result<bool, GitError> {
        let Some(commit) = Commit::new(commit) else { return Ok(false) };
        let repository = Repository::find(&self.git).await?;
        // Pin first: a missing commit cannot be pinned, and a pinned one stays.
        repository.pin(&format!("refs/bosun/{}/reused/{commit}", self.session), &commit).await?;
        for base in bases {
            let Some(base) = Commit::new(base) else { return Ok(false) };
            if !git::contains_commit(repository.git(), &commit, &base).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl CommitPinner for RepositoryCommits {
    fn pin_commit<'a>(&'a self, commit: &'a str, bases: &'a [String]) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            self.pin(commit, bases).await.unwrap_or_else(|error| {
                tracing::info!(commit, %error, "the work of an earlier run cannot be used");
                false
            })
        })
    }
}
