//! The record of a checkout, in a file beside it, which identifies the folder later.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use host::FileMoment;
use protocol::{SessionId, TaskId};
use serde::{Deserialize, Serialize};

use crate::as_sealed::SealedState;
use crate::{Commit, GitError};

/// Maximum bytes of a record.
const MAX_RECORD_BYTES: u64 = 256 << 10;

/// Identifies a checkout: its session, and the task that works in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CheckoutId {
    /// The session.
    pub session: SessionId,
    /// The task.
    pub task: TaskId,
}

impl CheckoutId {
    /// The ref of the commit it started with.
    pub fn base_ref(&self) -> String {
        format!("refs/bosun/{}/base/{}", self.session, self.task)
    }

    /// The ref of its sealed work.
    pub fn work_ref(&self) -> String {
        format!("refs/bosun/{}/work/{}", self.session, self.task)
    }

    /// The prefix of the refs that keep its other commits: stashes, other branches, reset commits.
    pub fn other_refs_prefix(&self) -> String {
        format!("refs/bosun/{}/also/{}/", self.session, self.task)
    }

    /// The ref of the user's uncommitted changes that it started with.
    pub fn dirty_ref(&self) -> String {
        format!("refs/bosun/{}/dirty/{}", self.session, self.task)
    }

    /// The checkout's folder below the folder of all checkouts.
    pub fn relative_path(&self) -> PathBuf {
        Path::new(&self.session.to_string()).join(self.task.to_string())
    }

    pub(crate) fn record_path(&self, root: &Path) -> PathBuf {
        root.join(format!("{}.json", self.task))
    }

    /// The index that git wrote with the files, at a path where the agent in the checkout does not write: its file
    /// states can be trusted.
    pub(crate) fn made_index(&self, root: &Path) -> PathBuf {
        root.join(format!("{}.made-index", self.task))
    }

    /// The file with the time of that index; if it is lost, every file is read again.
    pub(crate) fn made_at_path(&self, root: &Path) -> PathBuf {
        root.join(format!("{}.made-at", self.task))
    }

    pub(crate) fn write_made(&self, root: &Path, at: &FileMoment) -> io::Result<()> {
        fs::write(self.made_at_path(root), serde_json::to_vec(at)?)
    }

    pub(crate) fn read_made(&self, root: &Path) -> Option<FileMoment> {
        serde_json::from_slice(&fs::read(self.made_at_path(root)).ok()?).ok()
    }

    pub(crate) fn lease_path(&self, root: &Path) -> PathBuf {
        root.join(format!("{}.lease", self.task))
    }
}

/// The record of a checkout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CheckoutRecord {
    pub(crate) id: CheckoutId,
    /// The task's name.
    pub(crate) name: String,
    /// The subject of its work.
    #[serde(default)]
    pub(crate) title: String,
    /// The top of the user's repository.
    pub(crate) repository: PathBuf,
    /// The folder of its objects and refs.
    pub(crate) common: PathBuf,
    pub(crate) base: Commit,
    #[serde(default)]
    pub(crate) sealed: Option<Commit>,
    /// The state of the checkout at that time, if everything was sealed.
    #[serde(default)]
    pub(crate) seen: Option<SealedState>,
}

impl CheckoutRecord {
    /// The record of a checkout in `root`, the folder of its session.
    pub(crate) fn read(root: &Path, id: CheckoutId) -> Result<CheckoutRecord, GitError> {
        let path = id.record_path(root);
        let unusable = |said: String| GitError::File { path: path.clone(), said };
        let name = path.file_name().map(Path::new).unwrap_or(Path::new(""));
        let bytes = host::read_below(root, name, MAX_RECORD_BYTES).map_err(|error| unusable(error.to_string()))?;
        let bytes = bytes.ok_or_else(|| unusable("it is gone".into()))?;
        let record: CheckoutRecord = serde_json::from_slice(&bytes).map_err(|error| unusable(error.to_string()))?;
        if record.id == id { Ok(record) } else { Err(unusable("it belongs to another checkout".into())) }
    }

    /// Writes it atomically.
    pub(crate) fn write(&self, root: &Path) -> Result<(), GitError> {
        let path = self.id.record_path(root);
        let json =
            serde_json::to_vec(self).map_err(|error| GitError::File { path: path.clone(), said: error.to_string() })?;
        write_atomically(&path, &json)
    }
}

/// Writes a file atomically.
pub(crate) fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), GitError> {
    let draft = path.with_added_extension("new");
    let written = fs::File::create(&draft).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&draft, path)
    });
    written.map_err(GitError::file(path))
}
