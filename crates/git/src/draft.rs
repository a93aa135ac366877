//! New commits that depend only on their content.

use crate::{Commit, Git, GitError};

/// The author of generated commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    /// The name.
    pub name: String,
    /// The email address.
    pub email: String,
}

/// The content of a new commit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CommitDraft<'a> {
    pub(crate) tree: &'a str,
    pub(crate) parents: &'a [&'a Commit],
    pub(crate) message: &'a str,
}

impl CommitDraft<'_> {
    /// Creates the commit. Its date is that of its newest parent, so that the same draft always gives the same commit.
    pub(crate) async fn commit(self, git: &Git, author: &Signature) -> Result<Commit, GitError> {
        let date = format!("@{} +0000", self.newest_parent_time(git).await?);
        let git = ["AUTHOR", "COMMITTER"].into_iter().fold(git.clone(), |git, role| {
            git.with_env(&format!("GIT_{role}_NAME"), &author.name)
                .with_env(&format!("GIT_{role}_EMAIL"), &author.email)
                .with_env(&format!("GIT_{role}_DATE"), &date)
        });
        let mut args = vec!["-c", "i18n.commitEncoding=UTF-8", "commit-tree", self.tree, "-F", "-"];
        for parent in self.parents {
            args.extend(["-p", parent.as_str()]);
        }
        let id = git.run_checked(&args, self.message.as_bytes()).await?.run_for_text();
        Commit::new(&id).ok_or_else(|| git.unexpected_output("commit-tree", &id))
    }

    async fn newest_parent_time(self, git: &Git) -> Result<u64, GitError> {
        let args =
            ["rev-list", "--no-walk", "--timestamp"].into_iter().chain(self.parents.iter().map(|id| id.as_str()));
        let output = git.text(&args.collect::<Vec<_>>()).await?;
        let ages = output.lines().filter_map(|line| line.split_once(' ')?.0.parse().ok());
        Ok(ages.max().unwrap_or_default())
    }
}

/// Whether `ancestor` is an ancestor of `descendant`.
pub async fn contains_commit(git: &Git, descendant: &Commit, ancestor: &Commit) -> Result<bool, GitError> {
    let args = ["merge-base", "--is-ancestor", ancestor.as_str(), descendant.as_str()];
    let output = git.run(&args, &[]).await?;
    match output.code {
        0 => Ok(true),
        1 => Ok(false),
        _ => Err(git.failure(&args, &output)),
    }
}
