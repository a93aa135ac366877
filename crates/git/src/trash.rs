//! Discards unused checkouts. One whose work is sealed is removed; any other is moved to the trash, where it stays for
//! a while and can be restored.

use std::fs;
use std::path::{Path, PathBuf};

use host::{Home, RemovedFiles};
use protocol::{SessionId, TaskId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::checkout::Checkout;
use crate::lease::lease_holder;
use crate::record::{CheckoutRecord, write_atomically};
use crate::removal::{self, RemovalTime};
use crate::since_made::is_large;
use crate::{CheckoutId, Git, GitError};

/// Names in the home.
const CHECKOUTS: &str = "checkouts";
pub(crate) const TRASH: &str = "trash";
const NOTE: &str = "note.json";
const CONTENT: &str = "checkout";

/// Maximum bytes of a note.
const MAX_NOTE_BYTES: u64 = 256 << 10;

/// The outcome of discarding a checkout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DiscardOutcome {
    /// Its work is sealed in the user's repository, and it was removed.
    Removed(RemovedFiles),
    /// It is in the trash, since not all of its work could be sealed.
    Trashed {
        /// Its name there.
        name: String,
        /// Why.
        why: String,
    },
}

/// A checkout in the trash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrashedCheckout {
    /// Its name there.
    pub name: String,
    /// Its session and task.
    pub id: CheckoutId,
    /// When it was put there.
    pub trashed_at: Timestamp,
    /// Why it was not removed.
    pub why: String,
}

#[derive(Serialize, Deserialize)]
struct TrashNote {
    why: String,
    record: CheckoutRecord,
}

impl Checkout {
    /// All checkouts below a home, in any state.
    pub fn all(git: &Git, home: &Home) -> Vec<Checkout> {
        let mut all = Vec::new();
        let Ok(top) = home.root().canonicalize() else { return all };
        for (root, session) in ids_in::<SessionId>(&top.join(CHECKOUTS)) {
            // A link is not ours, wherever it leads.
            if !root.canonicalize().is_ok_and(|real| real == root) {
                continue;
            }
            for (_, name) in entry_names(&root) {
                let task = name.strip_suffix(".json").and_then(|task| task.parse::<TaskId>().ok());
                let record = task.and_then(|task| CheckoutRecord::read(&root, CheckoutId { session, task }).ok());
                all.extend(record.map(|record| Checkout::from_record(git, &root, record)));
            }
        }
        all.sort_by_key(Checkout::id);
        all
    }

    /// Whether a live process may work in it.
    pub fn is_in_use(&self) -> bool {
        lease_holder(&self.session_dir, self.record.id).is_some()
    }

    /// Discards it: removes it if all its work is sealed, else moves it to the trash. Refused while another process may
    /// work in it.
    pub async fn discard(mut self, home: &Home, now: Timestamp) -> Result<DiscardOutcome, GitError> {
        self.require_free()?;
        // Any error here occurs again, and is reported, when it is sealed.
        if self.is_unchanged_since_seal().await.unwrap_or(false) {
            return self.remove(home).await.map(DiscardOutcome::Removed);
        }
        match self.seal().await {
            Ok(sealed) if sealed.is_whole => self.remove(home).await.map(DiscardOutcome::Removed),
            Ok(_partly) => self.move_to_trash(home, now, "it has nested repositories, or is no longer one".into()),
            Err(error) => self.move_to_trash(home, now, error.to_string()),
        }
    }

    /// Moves it to the trash as it is. Refused while another process may work in it.
    pub fn trash(self, home: &Home, now: Timestamp, why: &str) -> Result<DiscardOutcome, GitError> {
        self.require_free()?;
        self.move_to_trash(home, now, why.to_owned())
    }

    fn require_free(&self) -> Result<(), GitError> {
        let path = || self.path.clone();
        lease_holder(&self.session_dir, self.record.id).map_or(Ok(()), |pid| Err(GitError::InUse { path: path(), pid }))
    }

    async fn remove(&self, home: &Home) -> Result<RemovedFiles, GitError> {
        let below = Path::new(CHECKOUTS).join(self.record.id.relative_path());
        let when = if is_large(&self.made_index()) { RemovalTime::Later } else { RemovalTime::Now };
        let removed = removal::remove(home, &below, &self.record.id.task.to_string(), when).await?;
        self.remove_companion_files();
        // The sealed work descends from the base and keeps it.
        let unpinned = self
            .git
            .in_folder(&self.record.common)
            .run_checked(&["update-ref", "-d", &self.record.id.base_ref()], &[])
            .await;
        if let Err(error) = unpinned {
            tracing::info!(%error, "cannot remove the ref of a removed checkout");
        }
        Ok(removed)
    }

    fn move_to_trash(&self, home: &Home, now: Timestamp, why: String) -> Result<DiscardOutcome, GitError> {
        let name = format!("{}-{}", now.0, self.record.id.task);
        let place = Path::new(TRASH).join(&name);
        let folder = host::make_below(home.root(), &place).map_err(GitError::file(home.root().join(&place)))?;
        let note = TrashNote { why: why.clone(), record: self.record.clone() };
        let note = serde_json::to_vec(&note)
            .map_err(|error| GitError::File { path: folder.join(NOTE), said: error.to_string() })?;
        write_atomically(&folder.join(NOTE), &note)?;
        let below = Path::new(CHECKOUTS).join(self.record.id.relative_path());
        match host::move_below(home.root(), &below, &place.join(CONTENT)) {
            Ok(()) => {}
            // The folder was removed by another program; the record is in the note.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(GitError::file(&self.path)(error)),
        }
        self.remove_companion_files();
        Ok(DiscardOutcome::Trashed { name, why })
    }

    /// Removes the files beside it.
    pub(crate) fn remove_companion_files(&self) {
        let id = self.record.id;
        let beside =
            [CheckoutId::made_index, CheckoutId::made_at_path, CheckoutId::record_path, CheckoutId::lease_path];
        for path in beside.map(|path_of| path_of(&id, &self.session_dir)) {
            if let Err(error) = fs::remove_file(&path)
                && error.kind() != std::io::ErrorKind::NotFound
            {
                tracing::warn!(path = %path.display(), %error, "cannot remove a file beside a checkout");
            }
        }
    }
}

impl TrashedCheckout {
    /// Everything in the trash, oldest first.
    pub fn all(home: &Home) -> Vec<TrashedCheckout> {
        let mut all: Vec<TrashedCheckout> = entry_names(&home.trash_dir())
            .filter_map(|(_, name)| {
                let at = Timestamp(name.split_once('-')?.0.parse().ok()?);
                let note = read_note(home, &name).ok()?;
                Some(TrashedCheckout { name, id: note.record.id, trashed_at: at, why: note.why })
            })
            .collect();
        all.sort_by(|a, b| (a.trashed_at, &a.name).cmp(&(b.trashed_at, &b.name)));
        all
    }

    /// Its folder, as it is in the trash.
    pub fn path(&self, home: &Home) -> PathBuf {
        home.trash_dir().join(&self.name).join(CONTENT)
    }

    /// Restores it to its place; returns its path.
    pub fn restore(&self, home: &Home) -> Result<PathBuf, GitError> {
        let note = read_note(home, &self.name)?;
        let root = home.make_checkouts(self.id.session);
        let root = root.map_err(|error| GitError::File { path: home.checkouts_dir(), said: error.to_string() })?;
        let target = Path::new(CHECKOUTS).join(self.id.relative_path());
        let from = Path::new(TRASH).join(&self.name).join(CONTENT);
        host::move_below(home.root(), &from, &target).map_err(GitError::file(self.path(home)))?;
        note.record.write(&root)?;
        self.remove(home)?;
        Ok(home.root().join(target))
    }

    /// Removes it permanently.
    pub fn remove(&self, home: &Home) -> Result<RemovedFiles, GitError> {
        let below = Path::new(TRASH).join(&self.name);
        host::remove_below(home.root(), &below).map_err(GitError::file(home.trash_dir().join(&self.name)))
    }
}

fn read_note(home: &Home, name: &str) -> Result<TrashNote, GitError> {
    let below = Path::new(TRASH).join(name).join(NOTE);
    let failed = |said: String| GitError::File { path: home.root().join(&below), said };
    let bytes = host::read_below(home.root(), &below, MAX_NOTE_BYTES).map_err(|error| failed(error.to_string()))?;
    let bytes = bytes.ok_or_else(|| failed("it is gone".into()))?;
    serde_json::from_slice(&bytes).map_err(|error| failed(error.to_string()))
}

/// The entries of a folder whose names are ids of this kind.
fn ids_in<T: std::str::FromStr>(folder: &Path) -> impl Iterator<Item = (PathBuf, T)> {
    entry_names(folder).filter_map(|(path, name)| Some((path, name.parse().ok()?)))
}

fn entry_names(folder: &Path) -> impl Iterator<Item = (PathBuf, String)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| Some((entry.path(), entry.file_name().into_string().ok()?)))
}
