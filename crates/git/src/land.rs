//! The user's branch and work tree move to the result, together, and only if nothing else has moved them meanwhile.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::changes::{self, PathChange};
use crate::draft::holds;
use crate::move_files::{FileMover, MoveError};
use crate::obstacles::obstacles;
use crate::staging::StagingIndex;
use crate::swap::Swap;
use crate::{BaseCommit, Commit, Git, GitError, Repository, ScratchCheckout};

/// Most files that are named.
const NAMED: usize = 20;

/// What is under way in a repository in which HEAD must not be moved, by the ref that tells.
const BUSY: [(&str, &str); 4] = [
    ("MERGE_HEAD", "a merge"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
    ("REBASE_HEAD", "a rebase"),
];

/// A result that the user's branch is to move to.
#[derive(Debug)]
pub struct LandRequest<'a> {
    /// What it was built on.
    pub base_commit: &'a BaseCommit,
    /// The result, built on the base commit's HEAD.
    pub tip: &'a Commit,
    /// A checkout for what must not be seen in the repository.
    pub scratch: &'a ScratchCheckout,
    /// The ref that tells, while the branch is moved, where to.
    pub mark: &'a str,
}

/// What became of a landing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LandOutcome {
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
    /// Files that no commit has are in the way, be they ignored or not.
    #[error("files that are not committed are in the way: {}; move them away first", .0.join(", "))]
    InTheWay(Vec<String>),
    /// Git does not put the result into this work tree.
    #[error("git does not put the result into the work tree: {0}; merge the result by hand")]
    Unplaced(String),
    /// Files go through programs that only the repository's own settings name.
    #[error(
        "{} must go through the filter `{filter}`, which only the repository's own settings name; Bosun does not run it. \
         Merge the result by hand, or set the filter in your own settings (`git config --global`)",
        .files.join(", ")
    )]
    Filtered {
        /// The filter.
        filter: String,
        /// The first files.
        files: Vec<String>,
    },
    /// Files were changed while they were moved.
    #[error("changed while the result was put in place: {}; nothing was moved, try again", .0.join(", "))]
    Saved(Vec<String>),
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

impl LandRequest<'_> {
    /// Moves branch, index and work tree. What a crash breaks off, the next landing of the same result finishes.
    pub async fn land(&self, git: &Git) -> Result<LandOutcome, LandError> {
        let repository = Repository::find(git).await?;
        let git = repository.git();
        self.expect_idle(git).await?;
        let now = BaseCommit::now(git).await?;
        if holds(git, &now.head, self.tip).await? {
            self.unmark(git).await?;
            return Ok(LandOutcome::Held);
        }
        self.expect_same_place(git, &now).await?;
        let changes = changes::between(git, &now.head, self.tip).await?;
        let left = if self.is_marked(git).await? {
            self.still_to_do(git, changes).await?
        } else {
            self.expect_same_files(git).await?;
            changes
        };
        self.expect_free(repository.top(), &left)?;
        self.expect_unfiltered(&repository, &left).await?;
        let swap = Swap::prepare(&repository, &now.head, self.tip).await?;
        let result = self.swap(&repository, &swap, &now.head, left).await;
        let result = match result {
            Ok(mover) => self.commit(git, &swap, mover, &now.head).await,
            Err(error) => Err(error),
        };
        if result.is_err() {
            swap.discard();
        }
        result.map(|()| LandOutcome::Moved { from: now.head })
    }

    async fn expect_idle(&self, git: &Git) -> Result<(), LandError> {
        for (name, what) in BUSY {
            if git.run(&["rev-parse", "-q", "--verify", name], &[]).await?.code == 0 {
                return Err(LandError::Busy(what));
            }
        }
        Ok(())
    }

    async fn expect_same_place(&self, git: &Git, now: &BaseCommit) -> Result<(), LandError> {
        let name = |base_commit: &BaseCommit| {
            base_commit.branch.clone().unwrap_or_else(|| format!("{} itself", short(&base_commit.head)))
        };
        if now.branch != self.base_commit.branch || now.branch.is_none() && now.head != self.base_commit.head {
            return Err(LandError::Elsewhere { was: name(self.base_commit), is: name(now) });
        }
        if !holds(git, self.tip, &now.head).await? {
            return Err(LandError::Diverged { branch: name(now), at: now.head.clone() });
        }
        Ok(())
    }

    /// Nothing is uncommitted but what the work was built on. Files that git does not know may lie around.
    async fn expect_same_files(&self, git: &Git) -> Result<(), LandError> {
        if self.base_commit.base == self.base_commit.head {
            // What is not committed inside a submodule is not touched, and nothing of its settings is run to know of it.
            let quiet = ["--no-renames", "--untracked-files=no", "--ignore-submodules=dirty"];
            let said = git.done(&[&["status", "--porcelain", "-z"][..], &quiet].concat(), &[]).await?;
            let names = said.out.split(|byte| *byte == 0).filter_map(|line| line.get(3..));
            let names: Vec<String> = names.map(|name| String::from_utf8_lossy(name).into_owned()).take(20).collect();
            return if names.is_empty() { Ok(()) } else { Err(LandError::Unclean(names)) };
        }
        let was = git.text(&["rev-parse", "--verify", &format!("{}^{{tree}}", self.base_commit.base)]).await?;
        if self.tree_now(git).await? == was { Ok(()) } else { Err(LandError::Changed) }
    }

    /// The tree of everything that is there now, ignored files apart, made with an index and objects of our own.
    async fn tree_now(&self, git: &Git) -> Result<String, GitError> {
        let repository = Repository::find(git).await?;
        let index = repository.git().text(&["rev-parse", "--path-format=absolute", "--git-path", "index"]).await?;
        let aside = self.scratch.aside(repository.git());
        let staging =
            StagingIndex::merged(aside, Path::new(&index), &self.scratch.index(), &self.base_commit.head).await?;
        staging.stage_all(repository.top()).await?;
        staging.tree().await
    }

    /// What an earlier landing that was broken off did not come to, unless somebody has changed the files since.
    async fn still_to_do(&self, git: &Git, changes: Vec<PathChange>) -> Result<Vec<PathChange>, LandError> {
        let index = self.scratch.index();
        let (old, new) = (
            LandingSide::Old.unlike(git, &index, &changes).await?,
            LandingSide::New.unlike(git, &index, &changes).await?,
        );
        let is_strange = |change: &&PathChange| old.contains(&change.path) && new.contains(&change.path);
        let strange = names(changes.iter().filter(is_strange).map(|change| change.path.as_path()));
        if !strange.is_empty() {
            return Err(LandError::Torn { tip: self.tip.clone(), files: strange });
        }
        Ok(changes.into_iter().filter(|change| new.contains(&change.path)).collect())
    }

    /// Nothing that is not committed is where the result has a file.
    fn expect_free(&self, top: &Path, changes: &[PathChange]) -> Result<(), LandError> {
        let found = obstacles(top, changes);
        if found.is_empty() { Ok(()) } else { Err(LandError::InTheWay(names(found.iter().map(PathBuf::as_path)))) }
    }

    /// No file of the result needs a filter that is not run here.
    async fn expect_unfiltered(&self, repository: &Repository, changes: &[PathChange]) -> Result<(), LandError> {
        let new = changes.iter().filter(|change| change.new.is_some()).map(|change| change.path.as_path());
        match repository.unfiltered(self.tip, new).await? {
            Some((filter, files)) => Err(LandError::Filtered { filter, files }),
            None => Ok(()),
        }
    }

    /// Puts the new files in place of the old ones. The ref says so before, and as long as the branch has not followed.
    async fn swap(
        &self,
        repository: &Repository,
        swap: &Swap,
        from: &Commit,
        changes: Vec<PathChange>,
    ) -> Result<FileMover, LandError> {
        let git = repository.git();
        let (top, aside, all) = (repository.top().to_owned(), swap.aside().to_owned(), changes.clone());
        let look = move || FileMover::look(top, aside, all);
        let mover = blocking(look).await?.map_err(GitError::file(repository.top()))?;
        // After the look: whatever is changed from here on, the mover notices.
        let unlike = LandingSide::Old.unlike(git, &self.scratch.index(), &changes).await?;
        if !unlike.is_empty() {
            return Err(LandError::Unclean(names(unlike.iter().map(PathBuf::as_path))));
        }
        git.done(&["update-ref", "ORIG_HEAD", from.as_str()], &[]).await?;
        git.done(&["update-ref", self.mark, self.tip.as_str()], &[]).await?;
        let (mover, moved) = blocking(move || {
            let mut mover = mover;
            let moved = mover.go();
            (mover, moved)
        })
        .await?;
        self.or_back(git, mover, moved).await
    }

    /// Moves the index and then the branch, unless one of them is not what it was: then everything goes back.
    async fn commit(&self, git: &Git, swap: &Swap, mover: FileMover, from: &Commit) -> Result<(), LandError> {
        let written = mover.written_since();
        let saved = if written.is_empty() { Ok(()) } else { Err(MoveError::Saved(written)) };
        let mover = self.or_back(git, mover, saved).await?;
        if let Err(error) = swap.install(git).await {
            return Err(self.back(git, mover, error).await);
        }
        let (to, old) = (self.tip.as_str(), from.as_str());
        let args = ["update-ref", "-m", "bosun: merge of a fleet's work", "HEAD", to, old];
        if let Err(error) = git.done(&args, &[]).await {
            swap.restore_index()?;
            return Err(self.back(git, mover, error.into()).await);
        }
        self.unmark(git).await?;
        blocking(move || mover.clear()).await?;
        Ok(())
    }

    async fn or_back(&self, git: &Git, mover: FileMover, moved: Result<(), MoveError>) -> Result<FileMover, LandError> {
        let error = match moved {
            Ok(()) => return Ok(mover),
            Err(MoveError::Saved(paths)) => LandError::Saved(names(paths.iter().map(PathBuf::as_path))),
            Err(MoveError::File(path, error)) => GitError::file(path)(error).into(),
        };
        Err(self.back(git, mover, error).await)
    }

    /// Puts every file back and says why.
    async fn back(&self, git: &Git, mut mover: FileMover, error: LandError) -> LandError {
        let undone = blocking(move || match mover.undo(MoveError::Saved(Vec::new())) {
            MoveError::Saved(stuck) => stuck,
            MoveError::File(path, _) => vec![path],
        });
        match (undone.await, self.unmark(git).await, error) {
            (Ok(stuck), Ok(()), LandError::Saved(mut files)) => {
                files.extend(names(stuck.iter().map(PathBuf::as_path)));
                LandError::Saved(files)
            }
            (Ok(stuck), Ok(()), error) if stuck.is_empty() => error,
            (Ok(stuck), Ok(()), _) => LandError::Saved(names(stuck.iter().map(PathBuf::as_path))),
            (Err(error), ..) | (_, Err(error), _) => error.into(),
        }
    }

    async fn is_marked(&self, git: &Git) -> Result<bool, GitError> {
        let said = git.run(&["rev-parse", "-q", "--verify", self.mark], &[]).await?;
        Ok(said.code == 0 && said.text() == self.tip.as_str())
    }

    async fn unmark(&self, git: &Git) -> Result<(), GitError> {
        git.done(&["update-ref", "-d", self.mark], &[]).await.map(|_said| ())
    }
}

/// One of the two commits that a landing moves between.
#[derive(Debug, Clone, Copy)]
enum LandingSide {
    Old,
    New,
}

impl LandingSide {
    /// The changed files that are not as this side has them. Where it has none, only an empty place is as it should be.
    async fn unlike(self, git: &Git, index: &Path, changes: &[PathChange]) -> Result<BTreeSet<PathBuf>, GitError> {
        let blob = |change: &'_ PathChange| match self {
            LandingSide::Old => change.old.clone(),
            LandingSide::New => change.new.clone(),
        };
        let blobs: Vec<(PathBuf, Option<changes::Blob>)> =
            changes.iter().map(|change| (change.path.clone(), blob(change))).collect();
        let there = blobs.iter().filter_map(|(path, blob)| Some((path.as_path(), blob.as_ref()?)));
        let mut unlike: BTreeSet<PathBuf> = changes::unlike(git, index, there).await?.into_iter().collect();
        let absent = blobs.iter().filter(|(_, blob)| blob.is_none()).map(|(path, _)| path);
        let taken = absent.filter(|path| is_file(&git.folder().join(path)));
        unlike.extend(taken.cloned());
        Ok(unlike)
    }
}

/// Whether something other than a folder is there.
fn is_file(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| !found.is_dir())
}

fn names<'a>(paths: impl Iterator<Item = &'a Path>) -> Vec<String> {
    paths.take(NAMED).map(|path| path.display().to_string()).collect()
}

/// Runs what waits for the disk where nobody else waits.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, GitError> {
    let stopped = |_stopped| GitError::Unavailable("the session is closing".into());
    tokio::task::spawn_blocking(work).await.map_err(stopped)
}

/// The part of a commit's name that people are shown.
fn short(commit: &Commit) -> &str {
    commit.as_str().get(..12).unwrap_or_default()
}
