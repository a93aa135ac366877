//! Delivers the merged result to the user: as a new branch, or on the current branch.

use git::{BaseCommit, Commit, Git, LandRequest, ScratchCheckout};
use protocol::MergeDestination;

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
    pub(super) async fn deliver(&self, action: BranchAction) -> Result<MergeDestination, String> {
        if *self.tip == self.base_commit.base {
            return Ok(MergeDestination::NoChange);
        }
        let rebased = self
            .base_commit
            .rebase_onto_head(self.git, self.tip, self.message, &signature())
            .await
            .map_err(error_text)?;
        let name = format!("{}/result", self.refs);
        let result = rebased.as_ref().unwrap_or(self.tip);
        self.git.run_checked(&["update-ref", &name, result.as_str()], &[]).await.map_err(error_text)?;
        let Some(rebased) = rebased else { return Ok(MergeDestination::RefOnly { name }) };
        let kept = match action {
            BranchAction::Stay => None,
            BranchAction::MoveDenied(why) => Some(why),
            BranchAction::Move => match self.land(&rebased).await {
                Ok(()) => return Ok(MergeDestination::Landed { branch: self.base_commit.branch.clone() }),
                Err(why) => Some(why),
            },
        };
        Ok(MergeDestination::Branch { name: self.make_branch(&rebased).await?, kept })
    }

    async fn land(&self, tip: &Commit) -> Result<(), String> {
        let mark = format!("{}/landing", self.refs);
        let request = LandRequest { base_commit: self.base_commit, tip, scratch: self.scratch, mark_ref: &mark };
        request.land(self.git).await.map(|_landed| ()).map_err(|error| error.to_string())
    }

    /// Creates the branch, with a number if a different branch already has its name.
    async fn make_branch(&self, tip: &Commit) -> Result<String, String> {
        for n in 1..=MAX_BRANCHES {
            let name = if n == 1 { self.branch.to_owned() } else { format!("{}-{n}", self.branch) };
            let full = format!("refs/heads/{name}");
            let existing = self.git.run(&["rev-parse", "-q", "--verify", &full], &[]).await.map_err(error_text)?;
            if existing.code == 0 && existing.run_for_text() == tip.as_str() {
                return Ok(name);
            }
            if existing.code != 0 {
                let commands = format!("create {full} {tip}\n");
                self.git.run_checked(&["update-ref", "--stdin"], commands.as_bytes()).await.map_err(error_text)?;
                return Ok(name);
            }
        }
        Err(format!("there are {MAX_BRANCHES} branches like {}; remove those that are not needed", self.branch))
    }

    /// The changed files, as listed by `git diff --stat`.
    pub(super) async fn stat(&self) -> Result<String, String> {
        let args =
            ["diff", "--stat=80", "--no-color", "--no-ext-diff", self.base_commit.base.as_str(), self.tip.as_str()];
        self.git.text(&args).await.map_err(error_text)
    }
}

fn error_text(error: git::GitError) -> String {
    error.to_string()
}
