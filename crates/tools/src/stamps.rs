//! The file states an agent has read. A write is compared with them, so no agent overwrites changes it has not seen.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use host::FileStamp;

/// The state of each file as one agent last saw it, by canonical path.
#[derive(Debug, Default)]
pub struct FileStamps(Mutex<HashMap<PathBuf, FileStamp>>);

impl FileStamps {
    /// The state of an agent that has read nothing.
    pub fn new() -> FileStamps {
        FileStamps::default()
    }

    /// Records the state of a file that the agent saw.
    pub fn record(&self, path: &Path, stamp: FileStamp) {
        self.map().insert(path.to_owned(), stamp);
    }

    /// Removes the entry of a deleted file.
    pub fn forget(&self, path: &Path) {
        self.map().remove(path);
    }

    /// The state of the file as the agent last saw it.
    pub fn last_seen(&self, path: &Path) -> Option<FileStamp> {
        self.map().get(path).copied()
    }

    fn map(&self) -> MutexGuard<'_, HashMap<PathBuf, FileStamp>> {
        // Each use is a single map operation, so a panic elsewhere cannot leave it half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
