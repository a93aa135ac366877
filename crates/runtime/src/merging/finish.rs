//! What was merged becomes the user's: a branch to look at, or the branch they are on.

use git::{BaseCommit, Commit, Git, LandRequest, ScratchCheckout};

use super::join::signature;
use super::summary::Taken;

/// Most branches of one session.
const MOST: usize = 100;

/// A merged tree that is to become the user's.
pub(super) struct Harvest<'a> {
    pub(super) git: &'a Git,
    pub(super) scratch: &'a ScratchCheckout,
    pub(super) outset: &'a BaseCommit,
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
pub(super) enum Wish {
    /// It stays.
    Stay,
    /// It moves to the result.
    Move,
    /// It was to move, and may not for this reason.
    Kept(String),
}

impl Harvest<'_> {
    /// Gives the user the result.
    pub(super) async fn give(&self, wish: Wish) -> Result<Taken, String> {
        if *self.tip == self.outset.base {
            return Ok(Taken::Nothing);
        }
        let lifted = self.outset.lift(self.git, self.tip, self.message, &signature()).await.map_err(words)?;
        let name = format!("{}/result", self.refs);
        let result = lifted.as_ref().unwrap_or(self.tip);
        self.git.done(&["update-ref", &name, result.as_str()], &[]).await.map_err(words)?;
        let Some(lifted) = lifted else { return Ok(Taken::Mixed { name }) };
        let kept = match wish {
            Wish::Stay => None,
            Wish::Kept(why) => Some(why),
            Wish::Move => match self.land(&lifted).await {
                Ok(()) => return Ok(Taken::Landed { branch: self.outset.branch.clone() }),
                Err(why) => Some(why),
            },
        };
        Ok(Taken::Branch { name: self.make_branch(&lifted).await?, kept })
    }

    async fn land(&self, tip: &Commit) -> Result<(), String> {
        let mark = format!("{}/landing", self.refs);
        let landing = LandRequest { outset: self.outset, tip, scratch: self.scratch, mark: &mark };
        landing.land(self.git).await.map(|_landed| ()).map_err(|error| error.to_string())
    }

    /// Makes a branch; one of that name that is something else stays as it is, and this one gets a number.
    async fn make_branch(&self, tip: &Commit) -> Result<String, String> {
        for n in 1..=MOST {
            let name = if n == 1 { self.branch.to_owned() } else { format!("{}-{n}", self.branch) };
            let full = format!("refs/heads/{name}");
            let known = self.git.run(&["rev-parse", "-q", "--verify", &full], &[]).await.map_err(words)?;
            if known.code == 0 && known.text() == tip.as_str() {
                return Ok(name);
            }
            if known.code != 0 {
                let orders = format!("create {full} {tip}\n");
                self.git.done(&["update-ref", "--stdin"], orders.as_bytes()).await.map_err(words)?;
                return Ok(name);
            }
        }
        Err(format!("there are {MOST} branches like {}; remove those that are not needed", self.branch))
    }

    /// The changed files, as `git diff --stat` tells them.
    pub(super) async fn stat(&self) -> Result<String, String> {
        let args = ["diff", "--stat=80", "--no-color", "--no-ext-diff", self.outset.base.as_str(), self.tip.as_str()];
        self.git.text(&args).await.map_err(words)
    }
}

fn words(error: git::GitError) -> String {
    error.to_string()
}
