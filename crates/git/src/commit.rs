//! Commits by their ids, and new ones that depend on nothing but what goes into them.

use std::fmt;

use crate::{Git, GitError};

/// The id of a commit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommitId(String);

impl CommitId {
    /// The commit of this full id, if it is one.
    pub fn named(id: &str) -> Option<CommitId> {
        let is_full = matches!(id.len(), 40 | 64) && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_full.then(|| CommitId(id.to_ascii_lowercase()))
    }

    /// The commit that a ref or another name stands for.
    pub async fn of(git: &Git, name: &str) -> Result<CommitId, GitError> {
        let id = git.text(&["rev-parse", "--verify", "--end-of-options", &format!("{name}^{{commit}}")]).await?;
        CommitId::named(&id).ok_or_else(|| git.odd("rev-parse", &id))
    }

    /// The full id.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The part of the id that people are shown.
    pub fn short(&self) -> &str {
        &self.0[..12]
    }
}

impl fmt::Display for CommitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Who makes commits that nobody wrote by hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    /// The name.
    pub name: String,
    /// The address.
    pub email: String,
}

/// What a new commit is made of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Draft<'a> {
    pub(crate) tree: &'a str,
    pub(crate) parents: &'a [&'a CommitId],
    pub(crate) message: &'a str,
}

impl Draft<'_> {
    /// Makes the commit. It is as old as the youngest of its parents, so that the same draft is always the same commit.
    pub(crate) async fn commit(self, git: &Git, by: &Signature) -> Result<CommitId, GitError> {
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
        CommitId::named(&id).ok_or_else(|| git.odd("commit-tree", &id))
    }

    async fn age(self, git: &Git) -> Result<u64, GitError> {
        let args =
            ["rev-list", "--no-walk", "--timestamp"].into_iter().chain(self.parents.iter().map(|id| id.as_str()));
        let said = git.text(&args.collect::<Vec<_>>()).await?;
        let ages = said.lines().filter_map(|line| line.split_once(' ')?.0.parse().ok());
        Ok(ages.max().unwrap_or_default())
    }
}

/// Whether everything of one commit is in another.
pub(crate) async fn holds(git: &Git, whole: &CommitId, part: &CommitId) -> Result<bool, GitError> {
    let args = ["merge-base", "--is-ancestor", part.as_str(), whole.as_str()];
    let said = git.run(&args, &[]).await?;
    match said.code {
        0 => Ok(true),
        1 => Ok(false),
        _ => Err(git.failed(&args, &said)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_full_id_is_one() {
        let id = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(CommitId::named(id).map(|id| id.to_string()).as_deref(), Some(id));
        for wrong in ["", "HEAD", "0123", "-p", &"g".repeat(40), &format!("{id}\n")] {
            assert_eq!(CommitId::named(wrong), None, "{wrong}");
        }
    }
}
