//! Sealing: all work in a checkout becomes a commit of the user's repository, pinned there. The agent may have
//! branched, detached, stashed or reset; none of that is lost.
//!
//! Git reads the folder with the settings of the user's repository. The agent controls the settings of the checkout,
//! which could name programs that git would run.

use std::path::Path;

use host::FileChanges;

use crate::checkout::Checkout;
use crate::commit::subject;
use crate::confine::{MissingFilter, confine};
use crate::pins::{fetch_commits, loose_commits, remove_contained_refs};
use crate::repository::find_commit;
use crate::staging::{OwnIndex, StagingIndex};
use crate::verify::is_own_repository;
use crate::{Commit, Git, GitError};

/// Maximum number of files named.
const MAX_FILES_NAMED: usize = 1_000;

/// The sealed work of a checkout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedWork {
    /// The commit with the work; the base commit if there is none.
    pub commit: Commit,
    /// Its ref in the user's repository.
    pub pinned: String,
    /// The first files that differ from the base commit.
    pub files: Vec<String>,
    /// Whether the commit contains everything. Files in nested repositories, or in a checkout that is no longer a
    /// repository, are not in it.
    pub is_whole: bool,
}

impl Checkout {
    /// Seals all work in it so far.
    pub async fn seal(&mut self) -> Result<SealedWork, GitError> {
        self.check_no_link()?;
        let is_own = is_own_repository(&self.git, &self.path).await;
        let head = if is_own { self.pin_commits().await? } else { None };
        let outer = with_strict_stat(confine(self.user_repository(), MissingFilter::Refused).await?.git);
        let seen = self.state_before_seal()?;
        let changes = self.changes_since_made().await;
        let staging = self.stage_made(outer.clone(), changes.as_ref()).await?;
        let own = match is_own {
            true => staging.adopt_entries(&self.path, &self.path.join(".git/index"), &self.record.base).await?,
            false => OwnIndex::Same,
        };
        self.stage(&staging, own, changes.as_ref()).await?;
        let (parent, remark) = self.seal_parent(&outer, head).await?;
        let message =
            format!("{}\n\nWork of {}, task {}.{remark}\n", self.subject(), self.record.name, self.record.id.task);
        let commit = match self.same_as_before(&outer, &staging, &parent).await? {
            Some(kept) => kept,
            None => staging.commit(&parent, &message).await?,
        };
        let pinned = self.record.id.work_ref();
        outer.run_checked(&["update-ref", &pinned, commit.as_str()], &[]).await?;
        self.unpin_contained(&outer, &commit).await?;
        let is_whole = is_own && !self.has_modules() && !self.has_repositories(&staging, changes.as_ref()).await?;
        let files = self.changed_files(&outer, &commit).await?;
        self.record.sealed = Some(commit.clone());
        self.record.seen = seen.filter(|_| is_whole && own != OwnIndex::LeavesOut);
        self.record.write(&self.session_dir)?;
        Ok(SealedWork { commit, pinned, files, is_whole })
    }

    /// The subject of the sealed commit.
    fn subject(&self) -> String {
        match subject(&self.record.title) {
            title if title.is_empty() => format!("Work of {}", self.record.name),
            title => title,
        }
    }

    /// Checks that its folder is not reached through a link: the content of another folder would be sealed as its work.
    pub(crate) fn check_no_link(&self) -> Result<(), GitError> {
        if self.path.canonicalize().map_err(GitError::file(&self.path))? == self.path {
            return Ok(());
        }
        Err(GitError::Unfit { path: self.path.clone(), why: "its path contains a link".into() })
    }

    /// Whether it contains repositories of submodules, in use or not.
    pub(crate) fn has_modules(&self) -> bool {
        self.path.join(".git/modules").symlink_metadata().is_ok()
    }

    /// Whether it contains nested repositories, of which only the current commit was sealed.
    async fn has_repositories(&self, staging: &StagingIndex, changes: Option<&FileChanges>) -> Result<bool, GitError> {
        if changes.is_some_and(|changes| !changes.has_repositories) {
            return Ok(false);
        }
        Ok(!staging.repositories(&self.path).await?.is_empty())
    }

    /// The earlier sealed commit, if it has the same content: sealing unchanged work twice gives one commit.
    async fn same_as_before(
        &self,
        outer: &Git,
        staging: &StagingIndex,
        parent: &Commit,
    ) -> Result<Option<Commit>, GitError> {
        let Some(sealed) = &self.record.sealed else { return Ok(None) };
        let [tree, above] = [format!("{sealed}^{{tree}}"), format!("{sealed}^@")];
        let output = outer.run(&["rev-parse", &tree, &above], &[]).await?;
        let is_same =
            output.code == 0 && output.run_for_text().lines().eq([staging.tree().await?.as_str(), parent.as_str()]);
        Ok(is_same.then(|| sealed.clone()))
    }

    /// Pins every commit reachable in the checkout; returns its HEAD.
    pub(crate) async fn pin_commits(&self) -> Result<Option<Commit>, GitError> {
        let head = find_commit(&self.git, "HEAD").await?;
        let loose = loose_commits(&self.git, &self.record.base).await?;
        fetch_commits(&self.outer_store(), &self.path.join(".git"), &loose, &self.record.id.other_refs_prefix())
            .await?;
        Ok(head)
    }

    /// The parent of the sealed commit: the checkout's HEAD, if that descends from the base.
    pub(crate) async fn seal_parent(&self, outer: &Git, head: Option<Commit>) -> Result<(Commit, String), GitError> {
        let base = &self.record.base;
        let Some(head) = head else {
            return Ok((base.clone(), " Its checkout was at no commit.".into()));
        };
        if head == *base {
            return Ok((head, String::new()));
        }
        let descends = outer.run(&["merge-base", "--is-ancestor", base.as_str(), head.as_str()], &[]).await?;
        match descends.code {
            0 => Ok((head, String::new())),
            1 => Ok((base.clone(), format!(" Its checkout was at {head}, which does not descend from {base}."))),
            _ => {
                Err(GitError::Failed { command: "merge-base".into(), folder: self.path.clone(), said: descends.stderr })
            }
        }
    }

    /// Unpins commits that the sealed commit contains.
    async fn unpin_contained(&self, outer: &Git, commit: &Commit) -> Result<(), GitError> {
        remove_contained_refs(outer, commit.as_str(), &self.record.id.other_refs_prefix()).await.map(|_count| ())
    }

    async fn changed_files(&self, outer: &Git, commit: &Commit) -> Result<Vec<String>, GitError> {
        let base = &self.record.base;
        let args = ["diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", base.as_str(), commit.as_str()];
        let output = outer.run_checked(&args, &[]).await?;
        let names = output.stdout.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        Ok(names.take(MAX_FILES_NAMED).map(|name| String::from_utf8_lossy(name).into_owned()).collect())
    }

    /// The user's repository without a work tree.
    fn outer_store(&self) -> Git {
        let git =
            self.git.in_folder(Path::new(&self.record.common)).with_env("GIT_DIR", &self.record.common).with_fetching();
        // The other side of the fetch is the checkout, and inherits this. No setting can redirect the fetch to anything
        // but files.
        git.with_env("GIT_NO_LAZY_FETCH", "1").with_env("GIT_ALLOW_PROTOCOL", "file")
    }
}

/// Git that treats a file as unchanged only if all known metadata is the same. An agent can set a file's modification
/// time and size to any value, but not its change time.
pub(crate) fn with_strict_stat(git: Git) -> Git {
    git.with_setting("core.trustctime", "true").with_setting("core.checkStat", "default")
}
