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
use crate::pins::{drop_held, fetch, loose};
use crate::repository::find_commit;
use crate::staging::{OwnIndex, StagingIndex};
use crate::verify::is_own;
use crate::{Commit, Git, GitError};

/// Maximum number of files named.
const NAMED: usize = 1_000;

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
        self.expect_in_place()?;
        let is_own = is_own(&self.git, &self.path).await;
        let head = if is_own { self.keep_commits().await? } else { None };
        let outer = with_strict_stat(confine(self.outer(), MissingFilter::Refused).await?.git);
        let seen = self.state_before_seal()?;
        let changes = self.changes().await;
        let staging = self.stage_made(outer.clone(), changes.as_ref()).await?;
        let own = match is_own {
            true => staging.follow(&self.path, &self.path.join(".git/index"), &self.record.base).await?,
            false => OwnIndex::Same,
        };
        self.stage(&staging, own, changes.as_ref()).await?;
        let (parent, remark) = self.parent(&outer, head).await?;
        let message =
            format!("{}\n\nWork of {}, task {}.{remark}\n", self.subject(), self.record.name, self.record.id.task);
        let commit = match self.kept(&outer, &staging, &parent).await? {
            Some(kept) => kept,
            None => staging.commit(&parent, &message).await?,
        };
        let pinned = self.record.id.work_ref();
        outer.done(&["update-ref", &pinned, commit.as_str()], &[]).await?;
        self.drop_contained(&outer, &commit).await?;
        let is_whole = is_own && !self.has_modules() && !self.has_repositories(&staging, changes.as_ref()).await?;
        let files = self.changed(&outer, &commit).await?;
        self.record.sealed = Some(commit.clone());
        self.record.seen = seen.filter(|_| is_whole && own != OwnIndex::LeavesOut);
        self.record.write(&self.root)?;
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
    pub(crate) fn expect_in_place(&self) -> Result<(), GitError> {
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

    /// The earlier commit with the same content: sealing unchanged work twice gives one commit.
    async fn kept(&self, outer: &Git, staging: &StagingIndex, parent: &Commit) -> Result<Option<Commit>, GitError> {
        let Some(sealed) = &self.record.sealed else { return Ok(None) };
        let [tree, above] = [format!("{sealed}^{{tree}}"), format!("{sealed}^@")];
        let output = outer.run(&["rev-parse", &tree, &above], &[]).await?;
        let is_same = output.code == 0 && output.text().lines().eq([staging.tree().await?.as_str(), parent.as_str()]);
        Ok(is_same.then(|| sealed.clone()))
    }

    /// Pins every commit reachable in the checkout; returns its HEAD.
    pub(crate) async fn keep_commits(&self) -> Result<Option<Commit>, GitError> {
        let head = find_commit(&self.git, "HEAD").await?;
        let loose = loose(&self.git, &self.record.base).await?;
        fetch(&self.outer_store(), &self.path.join(".git"), &loose, &self.record.id.also_refs()).await?;
        Ok(head)
    }

    /// The parent of the sealed commit: the checkout's HEAD, if that descends from the base.
    pub(crate) async fn parent(&self, outer: &Git, head: Option<Commit>) -> Result<(Commit, String), GitError> {
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
            _ => Err(GitError::Failed { command: "merge-base".into(), folder: self.path.clone(), said: descends.err }),
        }
    }

    /// Unpins commits that the sealed commit contains.
    async fn drop_contained(&self, outer: &Git, commit: &Commit) -> Result<(), GitError> {
        drop_held(outer, commit.as_str(), &self.record.id.also_refs()).await.map(|_count| ())
    }

    async fn changed(&self, outer: &Git, commit: &Commit) -> Result<Vec<String>, GitError> {
        let base = &self.record.base;
        let args = ["diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", base.as_str(), commit.as_str()];
        let output = outer.done(&args, &[]).await?;
        let names = output.out.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        Ok(names.take(NAMED).map(|name| String::from_utf8_lossy(name).into_owned()).collect())
    }

    /// The user's repository without a work tree.
    fn outer_store(&self) -> Git {
        let git = self.git.at(Path::new(&self.record.common)).with("GIT_DIR", &self.record.common).trusting();
        // The other side of the fetch is the checkout, and inherits this. No setting can redirect the fetch to anything
        // but files.
        git.with("GIT_NO_LAZY_FETCH", "1").with("GIT_ALLOW_PROTOCOL", "file")
    }
}

/// Git that treats a file as unchanged only if all known metadata is the same. An agent can set a file's modification
/// time and size to any value, but not its change time.
pub(crate) fn with_strict_stat(git: Git) -> Git {
    git.set("core.trustctime", "true").set("core.checkStat", "default")
}
