//! What files held before an agent's tools changed them, so that the changes can be taken back. A session keeps it in
//! its folder: a journal of all changes in order, and copies of contents, named by their digests.

use std::collections::HashSet;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::UNIX_EPOCH;

use data_encoding::HEXLOWER;
use host::Home;
use protocol::{CallId, SessionId, TaskId, Timestamp};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;

/// Maximum bytes of all copies of one session. Later contents are recorded without a copy.
const MAX_COPIED_BYTES: u64 = 256 << 20;

/// Maximum bytes of the journal that are read.
const MAX_JOURNAL_BYTES: u64 = 64 << 20;

const JOURNAL: &str = "changes.jsonl";

/// The file history of one session.
#[derive(Debug)]
pub struct FileHistory {
    folder: PathBuf,
    /// The bytes of all copies, counted before the first one is added.
    copied: Mutex<Option<u64>>,
}

/// A change of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordedChange {
    /// What changed it.
    pub by: ChangeAuthor,
    /// When.
    pub at: Timestamp,
    /// The absolute path.
    pub path: PathBuf,
    /// The file before.
    pub before: RecordedContent,
    /// The file afterwards.
    pub after: RecordedContent,
}

/// What changed a file.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ChangeAuthor {
    /// A tool call of an agent.
    Call {
        /// The agent.
        task: TaskId,
        /// The call.
        call: CallId,
    },
    /// A rewind of the session, after this event.
    Rewind {
        /// The number of the event.
        seq: u64,
    },
}

/// What a path led to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RecordedContent {
    /// Nothing.
    Missing,
    /// A file.
    File {
        /// The digest of its content.
        digest: String,
        /// Its permissions.
        mode: u32,
    },
    /// A file that could not be read, such as one that is too large.
    Unread,
}

impl RecordedContent {
    /// A file with this content.
    pub fn file(bytes: &[u8], mode: u32) -> RecordedContent {
        RecordedContent::File { digest: digest(bytes), mode }
    }

    /// Whether both are known to be the same, apart from permissions.
    pub fn is_same(&self, other: &RecordedContent) -> bool {
        match (self, other) {
            (RecordedContent::Missing, RecordedContent::Missing) => true,
            (RecordedContent::File { digest, .. }, RecordedContent::File { digest: other, .. }) => digest == other,
            (RecordedContent::Missing | RecordedContent::File { .. } | RecordedContent::Unread, _) => false,
        }
    }
}

fn digest(bytes: &[u8]) -> String {
    HEXLOWER.encode(&Sha256::digest(bytes))
}

impl FileHistory {
    /// The history of a session.
    pub fn of(home: &Home, session: SessionId) -> FileHistory {
        FileHistory { folder: home.file_history_dir(session), copied: Mutex::default() }
    }

    /// Keeps a copy of a content, unless the session has too many.
    pub fn keep(&self, bytes: &[u8]) -> io::Result<()> {
        let copy = self.folder.join(digest(bytes));
        let mut copied = self.copied.lock().unwrap_or_else(PoisonError::into_inner);
        let used = match *copied {
            Some(used) => used,
            None => copies(&self.folder)?.map(|(_, size)| size).sum(),
        };
        let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let total = used.saturating_add(size);
        if total > MAX_COPIED_BYTES || copy.exists() {
            *copied = Some(used);
            return Ok(());
        }
        self.create_folder()?;
        let mut file = NamedTempFile::new_in(&self.folder)?;
        file.write_all(bytes)?;
        file.persist(&copy)?;
        *copied = Some(total);
        Ok(())
    }

    /// Adds a change to the journal.
    pub fn record(&self, change: &RecordedChange) -> io::Result<()> {
        self.create_folder()?;
        let mut line = serde_json::to_vec(change).map_err(io::Error::other)?;
        line.push(b'\n');
        let path = self.folder.join(JOURNAL);
        // One write, so that several processes can append.
        OpenOptions::new().append(true).create(true).mode(0o600).open(path)?.write_all(&line)
    }

    /// All changes in the order in which they were recorded. A line that was not written completely is left out.
    pub fn changes(&self) -> io::Result<Vec<RecordedChange>> {
        let file = match File::open(self.folder.join(JOURNAL)) {
            Ok(file) => BufReader::new(file.take(MAX_JOURNAL_BYTES)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut changes = Vec::new();
        for line in file.split(b'\n') {
            changes.extend(serde_json::from_slice::<RecordedChange>(&line?).ok());
        }
        Ok(changes)
    }

    /// The copy of a content; `None` if there is none, or it is damaged.
    pub fn copy_of(&self, wanted: &str) -> io::Result<Option<Vec<u8>>> {
        // The journal may have been edited: a digest is the name of a file here, and nothing else.
        if HEXLOWER.decode(wanted.as_bytes()).is_err() {
            return Ok(None);
        }
        match fs::read(self.folder.join(wanted)) {
            Ok(bytes) => Ok((digest(&bytes) == wanted).then_some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Copies the history to a fork of the session.
    pub fn copy_to(&self, other: &FileHistory) -> io::Result<()> {
        if !self.folder.join(JOURNAL).exists() {
            return Ok(());
        }
        other.create_folder()?;
        for (path, _) in copies(&self.folder)? {
            let name = path.file_name().unwrap_or_default();
            // Copies never change.
            fs::hard_link(&path, other.folder.join(name))
                .or_else(|_| fs::copy(&path, other.folder.join(name)).map(drop))?;
        }
        fs::copy(self.folder.join(JOURNAL), other.folder.join(JOURNAL)).map(drop)
    }

    /// Removes the copies that no change after `cutoff` needs, and returns how many there were, and their bytes. With a
    /// dry run they stay.
    pub fn collect(&self, cutoff: Timestamp, run: CollectRun) -> io::Result<(u64, u64)> {
        let recent = self.changes()?.into_iter().filter(|change| change.at > cutoff);
        let needed: HashSet<String> = recent
            .filter_map(|change| match change.before {
                RecordedContent::File { digest, .. } => Some(digest),
                RecordedContent::Missing | RecordedContent::Unread => None,
            })
            .collect();
        let (mut removed, mut bytes) = (0, 0);
        for (path, size) in copies(&self.folder)? {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            // The change that needs a new copy may be recorded in a moment.
            if needed.contains(name) || !is_older(&path, cutoff) {
                continue;
            }
            match run {
                CollectRun::Remove => fs::remove_file(&path)?,
                CollectRun::Dry => {}
            }
            (removed, bytes) = (removed + 1, bytes + size);
        }
        Ok((removed, bytes))
    }

    fn create_folder(&self) -> io::Result<()> {
        match DirBuilder::new().mode(0o700).create(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            created => created,
        }
    }
}

/// Whether copies are removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CollectRun {
    /// They are.
    Remove,
    /// They are only counted.
    Dry,
}

fn is_older(path: &Path, cutoff: Timestamp) -> bool {
    let modified = fs::metadata(path).and_then(|found| found.modified()).ok();
    let age = modified.and_then(|modified| modified.duration_since(UNIX_EPOCH).ok());
    age.is_some_and(|age| age.as_millis() <= u128::from(cutoff.0))
}

/// The copies in a folder, with their sizes.
fn copies(folder: &Path) -> io::Result<impl Iterator<Item = (PathBuf, u64)>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => Some(entries),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let copies = entries.into_iter().flatten().flatten().filter(|entry| entry.file_name() != JOURNAL);
    Ok(copies.filter_map(|entry| Some((entry.path(), entry.metadata().ok()?.len()))))
}
