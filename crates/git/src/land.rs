//! Moves the user's branch and work tree to the result, together, and only if nothing else has moved them meanwhile.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::changes::{self, PathChange};
use crate::draft::contains_commit;
use crate::move_files::{FileMover, MoveError};
use crate::obstacles::obstacles;
use crate::staging::StagingIndex;
use crate::swap::Swap;
use crate::{BaseCommit, Commit, Git, GitError, Repository, ScratchCheckout};

/// Maximum number of files named.
const MAX_FILES_NAMED: usize = 20;

/// Operations during which HEAD must not be moved, by the ref that indicates them.
const PENDING_OPERATIONS: [(&str, &str); 4] = [
    ("MERGE_HEAD", "a merge"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
    ("REBASE_HEAD", "a rebase"),
];

/// A result to move the user's branch to.
#[derive(Debug)]
pub struct LandRequest<'a> {
    /// The base of the work.
    pub base_commit: &'a BaseCommit,
    /// The result, based on the base commit's HEAD.
    pub tip: &'a Commit,
    /// A scratch checkout for data that must not appear in the repository.
    pub scratch: &'a ScratchCheckout,
    /// The ref that records the target while the branch is moved.
    pub mark_ref: &'a str,
}

/// The outcome of a landing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LandOutcome {
    /// The branch has moved.
    Moved {
        /// The previous position.
        from: Commit,
    },
    /// It already contained the result.
    AlreadyContained,
}

/// Why the user's branch stays where it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LandError {
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// HEAD has changed.
    #[error("HEAD was on {was} when the work started and is now on {is}; switch back, or merge the result by hand")]
    HeadMoved {
        /// The previous position.
        was: String,
        /// The current position.
        is: String,
    },
    /// The branch has commits that the result lacks.
    #[error("{branch} has moved to {at} since the work started; merge the result into it by hand")]
    Diverged {
        /// The branch.
        branch: String,
        /// The current position.
        at: Commit,
    },
    /// Another operation is in progress.
    #[error("{0} is in progress in the repository; finish or abort it first")]
    Busy(&'static str),
    /// There are uncommitted changes.
    #[error("uncommitted changes: {}; commit or stash them first", .0.join(", "))]
    Unclean(Vec<String>),
    /// The uncommitted changes differ from those the work was based on.
    #[error(
        "uncommitted files have changed since the work started; commit or stash them, then merge the result by hand"
    )]
    Changed,
    /// Uncommitted files are in the way, ignored or not.
    #[error("uncommitted files are in the way: {}; move them away first", .0.join(", "))]
    InTheWay(Vec<String>),
    /// Git cannot write the result into this work tree.
    #[error("git cannot write the result into the work tree: {0}; merge the result by hand")]
    CannotWrite(String),
    /// Files need filters that only the repository's own settings name.
    #[error(
        "{} need the filter `{filter}`, which only the repository's own settings define; Bosun does not run it. \
         Merge the result by hand, or set the filter in your own settings (`git config --global`)",
        .files.join(", ")
    )]
    Filtered {
        /// The filter.
        filter: String,
        /// The first files.
        files: Vec<String>,
    },
    /// Files were changed during the move.
    #[error("changed while the result was put in place: {}; nothing was moved; try again", .0.join(", "))]
    ChangedMeanwhile(Vec<String>),
    /// An earlier landing was interrupted, and files were changed since.
    #[error(
        "an earlier move to {tip} was interrupted, and these files match neither the old nor the new version: \
         {}; `git restore --source={tip} -- FILE` restores the new version",
        .files.join(", ")
    )]
    Interrupted {
        /// Where to.
        tip: Commit,
        /// The files.
        files: Vec<String>,
    },
}

impl LandRequest<'_> {
    /// Moves branch, index and work tree. The next landing of the same result finishes one that a crash interrupted.
    pub async fn land(&self, git: &Git) -> Result<LandOutcome, LandError> {
        let repository = Repository::find(git).await?;
        let git = repository.git();
        self.check_no_pending_operation(git).await?;
        let now = BaseCommit::current(git).await?;
        if contains_commit(git, &now.head, self.tip).await? {
            self.unmark(git).await?;
            return Ok(LandOutcome::AlreadyContained);
        }
        self.check_head(git, &now).await?;
        let changes = changes::changed_paths(git, &now.head, self.tip).await?;
        let remaining = if self.is_marked(git).await? {
            self.remaining_changes(git, changes).await?
        } else {
            self.check_uncommitted(git).await?;
            changes
        };
        self.check_no_obstacles(repository.top(), &remaining)?;
        self.check_filters(&repository, &remaining).await?;
        let swap = Swap::prepare(&repository, &now.head, self.tip).await?;
        let result = self.replace_files(&repository, &swap, &now.head, remaining).await;
        let result = match result {
            Ok(mover) => self.move_index_and_branch(git, &swap, mover, &now.head).await,
            Err(error) => Err(error),
        };
        if result.is_err() {
            swap.discard();
        }
        result.map(|()| LandOutcome::Moved { from: now.head })
    }

    async fn check_no_pending_operation(&self, git: &Git) -> Result<(), LandError> {
        for (name, what) in PENDING_OPERATIONS {
            if git.run(&["rev-parse", "-q", "--verify", name], &[]).await?.code == 0 {
                return Err(LandError::Busy(what));
            }
        }
        Ok(())
    }

    async fn check_head(&self, git: &Git, now: &BaseCommit) -> Result<(), LandError> {
        let name = |base_commit: &BaseCommit| {
            base_commit.branch.clone().unwrap_or_else(|| format!("{} itself", short_id(&base_commit.head)))
        };
        if now.branch != self.base_commit.branch || now.branch.is_none() && now.head != self.base_commit.head {
            return Err(LandError::HeadMoved { was: name(self.base_commit), is: name(now) });
        }
        if !contains_commit(git, self.tip, &now.head).await? {
            return Err(LandError::Diverged { branch: name(now), at: now.head.clone() });
        }
        Ok(())
    }

    /// Checks that the only uncommitted changes are those the work was based on. Untracked files are allowed.
    async fn check_uncommitted(&self, git: &Git) -> Result<(), LandError> {
        if self.base_commit.base == self.base_commit.head {
            // Changes inside a submodule are not touched, and none of its settings is used to detect them.
            let quiet = ["--no-renames", "--untracked-files=no", "--ignore-submodules=dirty"];
            let output = git.run_checked(&[&["status", "--porcelain", "-z"][..], &quiet].concat(), &[]).await?;
            let names = output.stdout.split(|byte| *byte == 0).filter_map(|line| line.get(3..));
            let names: Vec<String> = names.map(|name| String::from_utf8_lossy(name).into_owned()).take(20).collect();
            return if names.is_empty() { Ok(()) } else { Err(LandError::Unclean(names)) };
        }
        let was = git.text(&["rev-parse", "--verify", &format!("{}^{{tree}}", self.base_commit.base)]).await?;
        if self.current_tree(git).await? == was { Ok(()) } else { Err(LandError::Changed) }
    }

    /// The tree of all current files except ignored ones, made with a temporary index and object folder.
    async fn current_tree(&self, git: &Git) -> Result<String, GitError> {
        let repository = Repository::find(git).await?;
        let index = repository.git().text(&["rev-parse", "--path-format=absolute", "--git-path", "index"]).await?;
        let aside = self.scratch.with_own_objects(repository.git());
        let staging = StagingIndex::from_merged_copy(
            aside,
            Path::new(&index),
            &self.scratch.temporary_index(),
            &self.base_commit.head,
        )
        .await?;
        staging.stage_all(repository.top()).await?;
        staging.tree().await
    }

    /// The changes that an interrupted landing did not make, unless the files have been changed since.
    async fn remaining_changes(&self, git: &Git, changes: Vec<PathChange>) -> Result<Vec<PathChange>, LandError> {
        let index = self.scratch.temporary_index();
        let (old, new) = (
            LandingSide::Old.differing_files(git, &index, &changes).await?,
            LandingSide::New.differing_files(git, &index, &changes).await?,
        );
        let is_neither = |change: &&PathChange| old.contains(&change.path) && new.contains(&change.path);
        let neither = names(changes.iter().filter(is_neither).map(|change| change.path.as_path()));
        if !neither.is_empty() {
            return Err(LandError::Interrupted { tip: self.tip.clone(), files: neither });
        }
        Ok(changes.into_iter().filter(|change| new.contains(&change.path)).collect())
    }

    /// Checks that no uncommitted file is where the result has a file.
    fn check_no_obstacles(&self, top: &Path, changes: &[PathChange]) -> Result<(), LandError> {
        let blocking_files = obstacles(top, changes);
        if blocking_files.is_empty() {
            Ok(())
        } else {
            Err(LandError::InTheWay(names(blocking_files.iter().map(PathBuf::as_path))))
        }
    }

    /// Checks that no file of the result needs a filter that is not run.
    async fn check_filters(&self, repository: &Repository, changes: &[PathChange]) -> Result<(), LandError> {
        let new = changes.iter().filter(|change| change.new.is_some()).map(|change| change.path.as_path());
        match repository.files_needing_filter(self.tip, new).await? {
            Some((filter, files)) => Err(LandError::Filtered { filter, files }),
            None => Ok(()),
        }
    }

    /// Replaces the old files by the new ones. The mark ref is set before, and stays until the branch has moved.
    async fn replace_files(
        &self,
        repository: &Repository,
        swap: &Swap,
        from: &Commit,
        changes: Vec<PathChange>,
    ) -> Result<FileMover, LandError> {
        let git = repository.git();
        let (top, aside, all) = (repository.top().to_owned(), swap.aside().to_owned(), changes.clone());
        let record = move || FileMover::record(top, aside, all);
        let mover = blocking(record).await?.map_err(GitError::file(repository.top()))?;
        // After the states are recorded: the mover detects any later change.
        let unlike = LandingSide::Old.differing_files(git, &self.scratch.temporary_index(), &changes).await?;
        if !unlike.is_empty() {
            return Err(LandError::Unclean(names(unlike.iter().map(PathBuf::as_path))));
        }
        git.run_checked(&["update-ref", "ORIG_HEAD", from.as_str()], &[]).await?;
        git.run_checked(&["update-ref", self.mark_ref, self.tip.as_str()], &[]).await?;
        let (mover, moved) = blocking(move || {
            let mut mover = mover;
            let moved = mover.replace_all();
            (mover, moved)
        })
        .await?;
        self.or_restore(git, mover, moved).await
    }

    /// Moves the index and then the branch, unless one of them has changed: then all files are restored.
    async fn move_index_and_branch(
        &self,
        git: &Git,
        swap: &Swap,
        mover: FileMover,
        from: &Commit,
    ) -> Result<(), LandError> {
        let written = mover.written_since();
        let saved = if written.is_empty() { Ok(()) } else { Err(MoveError::ChangedMeanwhile(written)) };
        let mover = self.or_restore(git, mover, saved).await?;
        if let Err(error) = swap.install(git).await {
            return Err(self.restore_files(git, mover, error).await);
        }
        let (to, old) = (self.tip.as_str(), from.as_str());
        let args = ["update-ref", "-m", "bosun: merge of a fleet's work", "HEAD", to, old];
        if let Err(error) = git.run_checked(&args, &[]).await {
            swap.restore_index()?;
            return Err(self.restore_files(git, mover, error.into()).await);
        }
        self.unmark(git).await?;
        blocking(move || mover.remove_old_files()).await?;
        Ok(())
    }

    async fn or_restore(
        &self,
        git: &Git,
        mover: FileMover,
        moved: Result<(), MoveError>,
    ) -> Result<FileMover, LandError> {
        let error = match moved {
            Ok(()) => return Ok(mover),
            Err(MoveError::ChangedMeanwhile(paths)) => {
                LandError::ChangedMeanwhile(names(paths.iter().map(PathBuf::as_path)))
            }
            Err(MoveError::File(path, error)) => GitError::file(path)(error).into(),
        };
        Err(self.restore_files(git, mover, error).await)
    }

    /// Restores every file and returns the error.
    async fn restore_files(&self, git: &Git, mut mover: FileMover, error: LandError) -> LandError {
        let undone = blocking(move || match mover.restore_all(MoveError::ChangedMeanwhile(Vec::new())) {
            MoveError::ChangedMeanwhile(unrestored) => unrestored,
            MoveError::File(path, _) => vec![path],
        });
        match (undone.await, self.unmark(git).await, error) {
            (Ok(unrestored), Ok(()), LandError::ChangedMeanwhile(mut files)) => {
                files.extend(names(unrestored.iter().map(PathBuf::as_path)));
                LandError::ChangedMeanwhile(files)
            }
            (Ok(unrestored), Ok(()), error) if unrestored.is_empty() => error,
            (Ok(unrestored), Ok(()), _) => LandError::ChangedMeanwhile(names(unrestored.iter().map(PathBuf::as_path))),
            (Err(error), ..) | (_, Err(error), _) => error.into(),
        }
    }

    async fn is_marked(&self, git: &Git) -> Result<bool, GitError> {
        let output = git.run(&["rev-parse", "-q", "--verify", self.mark_ref], &[]).await?;
        Ok(output.code == 0 && output.run_for_text() == self.tip.as_str())
    }

    async fn unmark(&self, git: &Git) -> Result<(), GitError> {
        git.run_checked(&["update-ref", "-d", self.mark_ref], &[]).await.map(|_output| ())
    }
}

/// One of the two commits that a landing moves between.
#[derive(Debug, Clone, Copy)]
enum LandingSide {
    Old,
    New,
}

impl LandingSide {
    /// The changed files that differ from this side. Where it has no file, only a missing file matches.
    async fn differing_files(
        self,
        git: &Git,
        index: &Path,
        changes: &[PathChange],
    ) -> Result<BTreeSet<PathBuf>, GitError> {
        let blob = |change: &'_ PathChange| match self {
            LandingSide::Old => change.old.clone(),
            LandingSide::New => change.new.clone(),
        };
        let blobs: Vec<(PathBuf, Option<changes::Blob>)> =
            changes.iter().map(|change| (change.path.clone(), blob(change))).collect();
        let existing = blobs.iter().filter_map(|(path, blob)| Some((path.as_path(), blob.as_ref()?)));
        let mut unlike: BTreeSet<PathBuf> = changes::differing_files(git, index, existing).await?.into_iter().collect();
        let absent = blobs.iter().filter(|(_, blob)| blob.is_none()).map(|(path, _)| path);
        let occupied = absent.filter(|path| is_file(&git.folder().join(path)));
        unlike.extend(occupied.cloned());
        Ok(unlike)
    }
}

/// Whether the path exists and is not a folder.
fn is_file(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|metadata| !metadata.is_dir())
}

fn names<'a>(paths: impl Iterator<Item = &'a Path>) -> Vec<String> {
    paths.take(MAX_FILES_NAMED).map(|path| path.display().to_string()).collect()
}

/// Runs blocking file operations on a separate thread.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, GitError> {
    let stopped = |_stopped| GitError::Unavailable("the session is closing".into());
    tokio::task::spawn_blocking(work).await.map_err(stopped)
}

/// The part of a commit's id that is shown.
fn short_id(commit: &Commit) -> &str {
    commit.as_str().get(..12).unwrap_or_default()
}
