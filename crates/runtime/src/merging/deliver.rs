//! What was merged becomes the user's: a branch to look at, or the branch they are on.

use git::{BaseCommit, Commit, Git, LandRequest, ScratchCheckout};

use super::join::signature;
use super::summary::MergeDestination;

/// Most branches of one session.
const MOST: usize = 100;

/// A merged tree that is to become the user's.
pub(super) struct MergedTree<'a> {
    pub(super) git: &'a Git,
    pub(super) scratch: &'a ScratchCheckout,
    pub(super) base_commit: &'a BaseCommit,
    pub(super) tip: &'a Commit,
    /// What the fleet's refs begin with.
    pub(super) refs: &'a str,
    /// The message of the commit that holds all of it, where it becomes one.
    pub(super) message: &'a str,
    /// What its branch is called, if nothing else is.
    pub(super) branch: &'a str,
}

/// What is to become of the user's branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BranchAction {
    /// It stays.
    Stay,
    /// It moves to the result.
    Move,
    /// It was to move, and may not for this reason.
    MoveDenied(String),
}

impl MergedTree<'_> {
    /// Gives the user the result.
    pub(super) async fn deliver(&self, wish: BranchAction) -> Result<MergeDestination, String> {
        if *self.tip == self.base_commit.base {
            return Ok(MergeDestination::NoChange);
        }
        let lifted = self.base_commit.lift(self.git, self.tip, self.message, &signature()).await.map_err(error_text)?;
        let name = format!("{}/result", self.refs);
        let result = lifted.as_ref().unwrap_or(self.tip);
        self.git.done(&["update-ref", &name, result.as_str()], &[]).await.map_err(error_text)?;
        let Some(lifted) = lifted else { return Ok(MergeDestination::RefOnly { name }) };
        let kept = match wish {
            BranchAction::Stay => None,
            BranchAction::MoveDenied(why) => Some(why),
            BranchAction::Move => match self.land(&lifted).await {
                Ok(()) => return Ok(MergeDestination::Landed { branch: self.base_commit.branch.clone() }),
                Err(why) => Some(why),
            },
        };
        Ok(MergeDestination::Branch { name: self.make_branch(&lifted).await?, kept })
    }

    async fn land(&self, tip: &Commit) -> Result<(), String> {
        let mark = format!("{}/landing", self.refs);
        let landing = LandRequest { base_commit: self.base_commit, tip, scratch: self.scratch, mark: &mark };
        landing.land(self.git).await.map(|_landed| ()).map_err(|error| error.to_string())
    }

    /// Makes a branch; one of that name that is something else stays as it is, and this one gets a number.
    async fn make_branch(&self, tip: &Commit) -> Result<String, String> {
        for n in 1..=MOST {
            let name = if n == 1 { self.branch.to_owned() } else { format!("{}-{n}", self.branch) };
            let full = format!("refs/heads/{name}");
            let known = self.git.run(&["rev-parse", "-q", "--verify", &full], &[]).await.map_err(error_text)?;
            if known.code == 0 && known.text() == tip.as_str() {
                return Ok(name);
            }
            if known.code != 0 {
                let orders = format!("create {full} {tip}\n");
                self.git.done(&["update-ref", "--stdin"], orders.as_bytes()).await.map_err(error_text)?;
                return Ok(name);
            }
        }
        Err(format!("there are {MOST} branches like {}; remove those that are not needed", self.branch))
    }

    /// The changed files, as `git diff --stat` tells them.
    pub(super) async fn stat(&self) -> Result<String, String> {
        let args =
            ["diff", "--stat=80", "--no-color", "--no-ext-diff", self.base_commit.base.as_str(), self.tip.as_str()];
        self.git.text(&args).await.map_err(error_text)
    }
}

fn error_text(error: git::GitError) -> String {
    error.to_string()
}
