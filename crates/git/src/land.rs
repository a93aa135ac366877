//! The user's branch and work tree move to the result, together, and only if nothing else has moved them meanwhile.

use std::path::Path;

use crate::draft::holds;
use crate::staging::Staging;
use crate::torn::Torn;
use crate::{Commit, Git, GitError, Outset, Repository, Scratch};

/// What is under way in a repository in which HEAD must not be moved, by the ref that tells.
const BUSY: [(&str, &str); 4] = [
    ("MERGE_HEAD", "a merge"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
    ("REBASE_HEAD", "a rebase"),
];

/// A result that the user's branch is to move to.
#[derive(Debug)]
pub struct Landing<'a> {
    /// What it was built on.
    pub outset: &'a Outset,
    /// The result, built on the outset's HEAD.
    pub tip: &'a Commit,
    /// A checkout for what must not be seen in the repository.
    pub scratch: &'a Scratch,
    /// The ref that tells, while the branch is moved, where to.
    pub mark: &'a str,
}

/// What became of a landing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Landed {
    /// The branch has moved.
    Moved {
        /// Where it was.
        from: Commit,
    },
    /// It held the result already.
    Held,
}

/// Why the user's branch stays where it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LandError {
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// HEAD is elsewhere.
    #[error("HEAD was on {was} when the work began and is on {is} now; switch back, or merge the result by hand")]
    Elsewhere {
        /// Where it was.
        was: String,
        /// Where it is.
        is: String,
    },
    /// The branch has commits that the result lacks.
    #[error("{branch} has moved to {at} since the work began; merge the result into it by hand")]
    Diverged {
        /// The branch.
        branch: String,
        /// Where it is.
        at: Commit,
    },
    /// Something else is under way.
    #[error("{0} is under way in the repository; finish it or abort it first")]
    Busy(&'static str),
    /// There is work that is not committed.
    #[error("not committed: {}; commit or stash it first", .0.join(", "))]
    Unclean(Vec<String>),
    /// What is not committed is not what the work was built on.
    #[error(
        "what is not committed has changed since the work began; commit or stash it, then merge the result by hand"
    )]
    Changed,
    /// Files that are not committed are in the way.
    #[error("files that are not committed are in the way: {0}; move, commit or stash them first")]
    InTheWay(String),
    /// An earlier landing was broken off, and files were changed since.
    #[error(
        "an earlier move to {tip} was broken off, and these files are neither as they were nor as they should be: \
         {}; `git restore --source={tip} -- FILE` makes one as it should be",
        .files.join(", ")
    )]
    Torn {
        /// Where to.
        tip: Commit,
        /// The files.
        files: Vec<String>,
    },
}

impl Landing<'_> {
    /// Moves branch, index and work tree. What a crash breaks off, the next landing of the same result finishes.
    pub async fn land(&self, git: &Git) -> Result<Landed, LandError> {
        self.expect_idle(git).await?;
        let now = Outset::now(git).await?;
        if holds(git, &now.head, self.tip).await? {
            self.unmark(git).await?;
            return Ok(Landed::Held);
        }
        self.expect_same_place(git, &now).await?;
        if self.is_marked(git).await? {
            self.mend(git, &now.head).await?;
        } else {
            self.expect_same_files(git).await?;
            self.move_files(git, &now.head).await?;
        }
        self.move_branch(git, &now.head).await?;
        self.unmark(git).await?;
        Ok(Landed::Moved { from: now.head })
    }

    async fn expect_idle(&self, git: &Git) -> Result<(), LandError> {
        for (name, what) in BUSY {
            if git.run(&["rev-parse", "-q", "--verify", name], &[]).await?.code == 0 {
                return Err(LandError::Busy(what));
            }
        }
        Ok(())
    }

    async fn expect_same_place(&self, git: &Git, now: &Outset) -> Result<(), LandError> {
        let name = |outset: &Outset| outset.branch.clone().unwrap_or_else(|| format!("{} itself", short(&outset.head)));
        if now.branch != self.outset.branch || now.branch.is_none() && now.head != self.outset.head {
            return Err(LandError::Elsewhere { was: name(self.outset), is: name(now) });
        }
        if !holds(git, self.tip, &now.head).await? {
            return Err(LandError::Diverged { branch: name(now), at: now.head.clone() });
        }
        Ok(())
    }

    /// Nothing is uncommitted but what the work was built on. Files that git does not know may lie around.
    async fn expect_same_files(&self, git: &Git) -> Result<(), LandError> {
        if self.outset.base == self.outset.head {
            let said = git.done(&["status", "--porcelain", "-z", "--no-renames", "--untracked-files=no"], &[]).await?;
            let names = said.out.split(|byte| *byte == 0).filter_map(|line| line.get(3..));
            let names: Vec<String> = names.map(|name| String::from_utf8_lossy(name).into_owned()).take(20).collect();
            return if names.is_empty() { Ok(()) } else { Err(LandError::Unclean(names)) };
        }
        let was = git.text(&["rev-parse", "--verify", &format!("{}^{{tree}}", self.outset.base)]).await?;
        if self.tree_now(git).await? == was { Ok(()) } else { Err(LandError::Changed) }
    }

    /// The tree of everything that is there now, ignored files apart, made with an index and objects of our own.
    async fn tree_now(&self, git: &Git) -> Result<String, GitError> {
        let repository = Repository::find(git).await?;
        let index = repository.git().text(&["rev-parse", "--path-format=absolute", "--git-path", "index"]).await?;
        let aside = self.scratch.aside(repository.git());
        let staging = Staging::copied(aside, Path::new(&index), &self.scratch.index(), &self.outset.head).await?;
        staging.stage_all(repository.top()).await?;
        staging.tree().await
    }

    /// Moves index and work tree. The ref says so before, and as long as the branch has not followed.
    async fn move_files(&self, git: &Git, from: &Commit) -> Result<(), LandError> {
        git.run(&["update-index", "-q", "--refresh"], &[]).await?;
        let files = [from.as_str(), self.tip.as_str()];
        let read = ["-c", "submodule.recurse=false", "read-tree", "-m", "-u"];
        // What would be overwritten is found before anything is.
        let dry = git.run(&[&read[..], &["-n"], &files].concat(), &[]).await?;
        if dry.code != 0 {
            return Err(LandError::InTheWay(dry.err.lines().take(20).collect::<Vec<_>>().join("; ")));
        }
        git.done(&["update-ref", "ORIG_HEAD", from.as_str()], &[]).await?;
        git.done(&["update-ref", self.mark, self.tip.as_str()], &[]).await?;
        git.done(&[&read[..], &files].concat(), &[]).await?;
        Ok(())
    }

    /// Finishes what an earlier landing began, unless somebody has changed the files since.
    async fn mend(&self, git: &Git, from: &Commit) -> Result<(), LandError> {
        let torn = Torn { git, index: &self.scratch.index(), from, to: self.tip };
        let strange = torn.strange().await?;
        if strange.is_empty() {
            return Ok(torn.finish().await?);
        }
        Err(LandError::Torn { tip: self.tip.clone(), files: strange })
    }

    /// Moves the branch, unless it is not where it was when the files were moved: then they go back.
    async fn move_branch(&self, git: &Git, from: &Commit) -> Result<(), LandError> {
        let (to, old) = (self.tip.as_str(), from.as_str());
        let moved = git.done(&["update-ref", "-m", "bosun: merge of a fleet's work", "HEAD", to, old], &[]).await;
        if let Err(error) = moved {
            git.done(&["read-tree", "-m", "-u", to, old], &[]).await?;
            self.unmark(git).await?;
            return Err(error.into());
        }
        Ok(())
    }

    async fn is_marked(&self, git: &Git) -> Result<bool, GitError> {
        let said = git.run(&["rev-parse", "-q", "--verify", self.mark], &[]).await?;
        Ok(said.code == 0 && said.text() == self.tip.as_str())
    }

    async fn unmark(&self, git: &Git) -> Result<(), GitError> {
        git.done(&["update-ref", "-d", self.mark], &[]).await.map(|_said| ())
    }
}

/// The part of a commit's name that people are shown.
fn short(commit: &Commit) -> &str {
    commit.as_str().get(..12).unwrap_or_default()
}
