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
    pub(crate) async fn commit(self, git: &Git, by: &Signature) -> Result<Commit, GitError> {
        let date = format!("@{} +0000", self.age(git).await?);
        let git = ["AUTHOR", "COMMITTER"].into_iter().fold(git.clone(), |git, role| {
            git.with(&format!("GIT_{role}_NAME"), &by.name)
                .with(&format!("GIT_{role}_EMAIL"), &by.email)
                .with(&format!("GIT_{role}_DATE"), &date)
        });
        let mut args = vec!["-c", "i18n.commitEncoding=UTF-8", "commit-tree", self.tree, "-F", "-"];
        for parent in self.parents {
            args.extend(["-p", parent.as_str()]);
        }
        let id = git.done(&args, self.message.as_bytes()).await?.text();
        Commit::new(&id).ok_or_else(|| git.unexpected_output("commit-tree", &id))
    }

    async fn age(self, git: &Git) -> Result<u64, GitError> {
        let args =
            ["rev-list", "--no-walk", "--timestamp"].into_iter().chain(self.parents.iter().map(|id| id.as_str()));
        let output = git.text(&args.collect::<Vec<_>>()).await?;
        let ages = output.lines().filter_map(|line| line.split_once(' ')?.0.parse().ok());
        Ok(ages.max().unwrap_or_default())
    }
}

/// Whether `part` is an ancestor of `whole`.
pub async fn contains_commit(git: &Git, whole: &Commit, part: &Commit) -> Result<bool, GitError> {
    let args = ["merge-base", "--is-ancestor", part.as_str(), whole.as_str()];
    let output = git.run(&args, &[]).await?;
    match output.code {
        0 => Ok(true),
        1 => Ok(false),
        _ => Err(git.failed(&args, &output)),
    }
}
