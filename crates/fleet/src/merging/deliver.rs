//! Delivers the merged result to the user: as a new branch, or on the current branch.

use git::{BaseCommit, Commit, Git, GitError, LandError, LandRequest, ScratchCheckout};
use protocol::MergeDestination;

use super::error::MergeError;
use super::join::signature;

/// Maximum number of branches per session.
const MAX_BRANCHES: usize = 100;

/// A merged tree to deliver to the user.
pub(super) struct MergedTree<'a> {
    pub(super) git: &'a Git,
    pub(super) scratch: &'a ScratchCheckout,
    pub(super) base_commit: &'a BaseCommit,
    pub(super) tip: &'a Commit,
    /// The prefix of the fleet's refs.
    pub(super) refs: &'a str,
    /// The commit message, for the case that all changes become one commit.
    pub(super) message: &'a str,
    /// The name of the new branch, unless it is taken.
    pub(super) branch: &'a str,
}

/// What to do with the user's branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BranchAction {
    /// Leave it.
    Stay,
    /// Move it to the result.
    Move,
    /// Leave it although it should move, for this reason.
    MoveDenied(String),
}

impl MergedTree<'_> {
    /// Delivers the result.
    pub(super) async fn deliver(&self, action: BranchAction) -> Result<MergeDestination, MergeError> {
        if *self.tip == self.base_commit.base {
            return Ok(MergeDestination::NoChange);
        }
        let rebased = self.base_commit.rebase_onto_head(self.git, self.tip, self.message, &signature()).await?;
        let name = format!("{}/result", self.refs);
        let result = rebased.as_ref().unwrap_or(self.tip);
        self.git.run_checked(&["update-ref", &name, result.as_str()], &[]).await?;
        let Some(rebased) = rebased else { return Ok(MergeDestination::RefOnly { name }) };
        let kept = match action {
            BranchAction::Stay => None,
            BranchAction::MoveDenied(why) => Some(why),
            BranchAction::Move => match self.land(&rebased).await {
                Ok(()) => return Ok(MergeDestination::Landed { branch: self.base_commit.branch.clone() }),
                Err(error) => Some(error.to_string()),
            },
        };
        Ok(MergeDestination::Branch { name: self.make_branch(&rebased).await?, kept })
    }

    async fn land(&self, tip: &Commit) -> Result<(), LandError> {
        let mark = format!("{}/landing", self.refs);
        let request = LandRequest { base_commit: self.base_commit, tip, scratch: self.scratch, mark_ref: &mark };
        request.land(self.git).await.map(drop)
    }

    /// Creates the branch, with a number if a different branch already has its name.
    async fn make_branch(&self, tip: &Commit) -> Result<String, MergeError> {
        for n in 1..=MAX_BRANCHES {
            let name = if n == 1 { self.branch.to_owned() } else { format!("{}-{n}", self.branch) };
            let full = format!("refs/heads/{name}");
            let existing = self.git.run(&["rev-parse", "-q", "--verify", &full], &[]).await?;
            if existing.code == 0 && existing.run_for_text() == tip.as_str() {
                return Ok(name);
            }
            if existing.code != 0 {
                let commands = format!("create {full} {tip}\n");
                self.git.run_checked(&["update-ref", "--stdin"], commands.as_bytes()).await?;
                return Ok(name);
            }
        }
        Err(MergeError::TooManyBranches { count: MAX_BRANCHES, branch: self.branch.to_owned() })
    }

    /// The changed files, as listed by `git diff --stat`.
    pub(super) async fn stat(&self) -> Result<String, GitError> {
        let args =
            ["diff", "--stat=80", "--no-color", "--no-ext-diff", self.base_commit.base.as_str(), self.tip.as_str()];
        self.git.text(&args).await
    }
}
