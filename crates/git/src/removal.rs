//! Removes checkouts permanently: moves them away in one step, and then deletes file by file, without making the caller
//! wait long. Another process finishes what one does not complete before it ends.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use host::{Home, RemovedFiles};

use crate::GitError;
use crate::trash::TRASH;

/// The name prefix of folders to delete.
const REMOVED_PREFIX: &str = "removed-";

/// How long to wait for the removal of a checkout.
const MAX_REMOVAL_WAIT: Duration = Duration::from_millis(500);

/// When a folder is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RemovalTime {
    Now,
    /// With the other pending removals: deleting a large checkout would slow down running work.
    Later,
}

/// Removes the path `below` the home; `name` identifies it. Files that are not removed in time are not counted, and
/// their removal continues while the process runs.
pub(crate) async fn remove(home: &Home, below: &Path, name: &str, when: RemovalTime) -> Result<RemovedFiles, GitError> {
    let (root, moved_path) = (home.root().to_owned(), Path::new(TRASH).join(format!("{REMOVED_PREFIX}{name}")));
    let failed = |error| GitError::file(home.root().join(below))(error);
    let moved =
        host::make_below(&root, Path::new(TRASH)).and_then(|_trash| host::move_below(&root, below, &moved_path));
    let (moved_path, max_wait) = match moved {
        Ok(()) if when == RemovalTime::Later => return Ok(RemovedFiles::default()),
        Ok(()) => (moved_path, MAX_REMOVAL_WAIT),
        // If it cannot be moved, as between file systems, it is deleted in place.
        Err(_stays) => (below.to_owned(), Duration::MAX),
    };
    let removing = tokio::task::spawn_blocking(move || remove_moved(&root, &moved_path));
    match tokio::time::timeout(max_wait, removing).await {
        Ok(Ok(removed)) => removed.map_err(failed),
        Ok(Err(stopped)) => Err(failed(io::Error::other(stopped))),
        Err(_long) => Ok(RemovedFiles::default()),
    }
}

/// Finishes the pending removals of this and earlier processes; returns what was removed. May take long.
pub fn finish_removals(home: &Home) -> RemovedFiles {
    let mut all = RemovedFiles::default();
    for name in pending_removals(home) {
        match remove_moved(home.root(), &Path::new(TRASH).join(&name)) {
            Ok(removed) => {
                all.entries += removed.entries;
                all.bytes += removed.bytes;
            }
            Err(error) => tracing::info!(path = %name.display(), %error, "cannot remove the rest of a checkout"),
        }
    }
    all
}

fn pending_removals(home: &Home) -> Vec<PathBuf> {
    let entries = fs::read_dir(home.trash_dir()).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.starts_with(REMOVED_PREFIX)).map(PathBuf::from).collect()
}

/// Removes a folder, which another process may be removing too.
fn remove_moved(root: &Path, path: &Path) -> io::Result<RemovedFiles> {
    match host::remove_below(root, path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(RemovedFiles::default()),
        removed => removed,
    }
}
