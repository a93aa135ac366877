//! The base of a fleet's work: the user's HEAD, and the commit that checkouts start with.

use crate::draft::CommitDraft;
use crate::trial::{TrialMerge, TrialResult};
use crate::{Commit, Git, GitError, Repository, Signature};

/// The base of a fleet's work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseCommit {
    /// The branch of HEAD; none when detached.
    pub branch: Option<String>,
    /// The commit of HEAD.
    pub head: Commit,
    /// The commit that checkouts start with: HEAD, or a temporary commit on top of it with the uncommitted changes.
    pub base: Commit,
}

impl BaseCommit {
    /// The current HEAD.
    pub async fn current(git: &Git) -> Result<BaseCommit, GitError> {
        let head = Repository::find(git).await?.head().await?;
        let output = git.run(&["symbolic-ref", "-q", "HEAD"], &[]).await?;
        let branch = output.run_for_text().strip_prefix("refs/heads/").filter(|_| output.code == 0).map(str::to_owned);
        Ok(BaseCommit { branch, base: head.clone(), head })
    }

    /// The same base with the uncommitted changes as a commit on top of HEAD.
    #[must_use]
    pub fn with_snapshot(self, base: Commit) -> BaseCommit {
        BaseCommit { base, ..self }
    }

    /// Stores it in the repository in refs below `ref_prefix`, completely or not at all. Existing refs stay as they are.
    pub async fn store(&self, git: &Git, ref_prefix: &str) -> Result<(), GitError> {
        let onto = match &self.branch {
            Some(branch) => format!("{ref_prefix}/onto/{branch}"),
            None => format!("{ref_prefix}/detached"),
        };
        let commands =
            format!("start\ncreate {onto} {}\ncreate {ref_prefix}/base {}\nprepare\ncommit\n", self.head, self.base);
        git.run_checked(&["update-ref", "--stdin"], commands.as_bytes()).await.map(|_output| ())
    }

    /// Reads the base that [`BaseCommit::keep`] stored.
    pub async fn load(git: &Git, ref_prefix: &str) -> Result<Option<BaseCommit>, GitError> {
        let format = "--format=%(refname) %(objectname)";
        let [base, detached, onto] = ["base", "detached", "onto/"].map(|name| format!("{ref_prefix}/{name}"));
        let output = git.text(&["for-each-ref", format, &base, &detached, &onto]).await?;
        let refs: Vec<(&str, Commit)> = output
            .lines()
            .filter_map(|line| line.split_once(' '))
            .filter_map(|(name, id)| Some((name, Commit::new(id)?)))
            .collect();
        let Some((_, base)) = refs.iter().find(|(name, _)| *name == base).cloned() else { return Ok(None) };
        let stored_head = refs.into_iter().find_map(|(name, head)| match name.strip_prefix(&onto) {
            Some(branch) => Some((Some(branch.to_owned()), head)),
            None => (name == detached).then_some((None, head)),
        });
        Ok(stored_head.map(|(branch, head)| BaseCommit { branch, head, base }))
    }

    /// The result as a commit on top of HEAD, without the temporary commit of the uncommitted changes; none when the
    /// two conflict.
    pub async fn rebase_onto_head(
        &self,
        git: &Git,
        tip: &Commit,
        message: &str,
        author: &Signature,
    ) -> Result<Option<Commit>, GitError> {
        if self.base == self.head {
            return Ok(Some(tip.clone()));
        }
        let TrialResult { tree, conflict: end } =
            TrialMerge { base: Some(&self.base), ours: &self.head, theirs: tip }.run(git).await?;
        match end {
            Some(_clashed) => Ok(None),
            None => {
                let draft = CommitDraft { tree: &tree, parents: &[&self.head], message };
                draft.commit(git, author).await.map(Some)
            }
        }
    }
}
