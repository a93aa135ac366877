//! What a fleet's work is built on: where the user's HEAD stood, and what the checkouts begin with.

use crate::draft::CommitDraft;
use crate::trial::{TrialMerge, TrialResult};
use crate::{Commit, Git, GitError, Repository, Signature};

/// What work is built on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseCommit {
    /// The branch that HEAD was on; none when it was on none.
    pub branch: Option<String>,
    /// The commit of HEAD.
    pub head: Commit,
    /// What checkouts begin with: the same, or a temporary commit on top of it that holds what was not committed.
    pub base: Commit,
}

impl BaseCommit {
    /// Where HEAD is now.
    pub async fn now(git: &Git) -> Result<BaseCommit, GitError> {
        let head = Repository::find(git).await?.head().await?;
        let said = git.run(&["symbolic-ref", "-q", "HEAD"], &[]).await?;
        let branch = said.text().strip_prefix("refs/heads/").filter(|_| said.code == 0).map(str::to_owned);
        Ok(BaseCommit { branch, base: head.clone(), head })
    }

    /// The same with what is not committed, as a commit on top of HEAD.
    #[must_use]
    pub fn with_snapshot(self, base: Commit) -> BaseCommit {
        BaseCommit { base, ..self }
    }

    /// Keeps it in the repository below a ref, all of it or nothing. What is kept there already stays.
    pub async fn keep(&self, git: &Git, below: &str) -> Result<(), GitError> {
        let onto = match &self.branch {
            Some(branch) => format!("{below}/onto/{branch}"),
            None => format!("{below}/detached"),
        };
        let orders =
            format!("start\ncreate {onto} {}\ncreate {below}/base {}\nprepare\ncommit\n", self.head, self.base);
        git.done(&["update-ref", "--stdin"], orders.as_bytes()).await.map(|_said| ())
    }

    /// What was kept.
    pub async fn kept(git: &Git, below: &str) -> Result<Option<BaseCommit>, GitError> {
        let form = "--format=%(refname) %(objectname)";
        let [base, detached, onto] = ["base", "detached", "onto/"].map(|name| format!("{below}/{name}"));
        let said = git.text(&["for-each-ref", form, &base, &detached, &onto]).await?;
        let refs: Vec<(&str, Commit)> = said
            .lines()
            .filter_map(|line| line.split_once(' '))
            .filter_map(|(name, id)| Some((name, Commit::new(id)?)))
            .collect();
        let Some((_, base)) = refs.iter().find(|(name, _)| *name == base).cloned() else { return Ok(None) };
        let stood = refs.into_iter().find_map(|(name, head)| match name.strip_prefix(&onto) {
            Some(branch) => Some((Some(branch.to_owned()), head)),
            None => (name == detached).then_some((None, head)),
        });
        Ok(stood.map(|(branch, head)| BaseCommit { branch, head, base }))
    }

    /// The result as a commit that is built on HEAD, without the temporary commit that held what was not committed;
    /// nothing when the two cannot be told apart.
    pub async fn lift(
        &self,
        git: &Git,
        tip: &Commit,
        message: &str,
        by: &Signature,
    ) -> Result<Option<Commit>, GitError> {
        if self.base == self.head {
            return Ok(Some(tip.clone()));
        }
        let TrialResult { tree, end } =
            TrialMerge { base: Some(&self.base), ours: &self.head, theirs: tip }.run(git).await?;
        match end {
            Some(_clashed) => Ok(None),
            None => {
                let draft = CommitDraft { tree: &tree, parents: &[&self.head], message };
                draft.commit(git, by).await.map(Some)
            }
        }
    }
}
