//! Checkouts that are removed for good: out of their place in one step, and then file by file, for which nobody waits long.
//! What one process does not come to before it ends, another finishes.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use host::{Home, RemovedFiles};

use crate::GitError;
use crate::trash::TRASH;

/// What the names of folders begin with that nothing in is needed.
const PREFIX: &str = "removed-";

/// How long the removal of a checkout is waited for.
const PATIENCE: Duration = Duration::from_millis(500);

/// When what nobody needs is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RemovalTime {
    Now,
    /// With the other removals that are left: a large checkout would slow down whoever still works.
    Later,
}

/// Removes what is `below` the home; `name` tells it from others. What is not removed in time is not counted, and its
/// removal goes on as long as the process does.
pub(crate) async fn remove(home: &Home, below: &Path, name: &str, when: RemovalTime) -> Result<RemovedFiles, GitError> {
    let (root, aside) = (home.root().to_owned(), Path::new(TRASH).join(format!("{PREFIX}{name}")));
    let failed = |error| GitError::file(home.root().join(below))(error);
    let moved = host::make_below(&root, Path::new(TRASH)).and_then(|_trash| host::move_below(&root, below, &aside));
    let (aside, patience) = match moved {
        Ok(()) if when == RemovalTime::Later => return Ok(RemovedFiles::default()),
        Ok(()) => (aside, PATIENCE),
        // Where it cannot be moved, as between file systems, it is removed where it is.
        Err(_stays) => (below.to_owned(), Duration::MAX),
    };
    let removing = tokio::task::spawn_blocking(move || remove_aside(&root, &aside));
    match tokio::time::timeout(patience, removing).await {
        Ok(Ok(removed)) => removed.map_err(failed),
        Ok(Err(stopped)) => Err(failed(io::Error::other(stopped))),
        Err(_long) => Ok(RemovedFiles::default()),
    }
}

/// Finishes the removals that are left, of this process and of those before it, and tells what they removed. May take long.
pub fn finish_removals(home: &Home) -> RemovedFiles {
    let mut all = RemovedFiles::default();
    for name in removals(home) {
        match remove_aside(home.root(), &Path::new(TRASH).join(&name)) {
            Ok(removed) => {
                all.entries += removed.entries;
                all.bytes += removed.bytes;
            }
            Err(error) => tracing::info!(path = %name.display(), %error, "what is left of a checkout stays"),
        }
    }
    all
}

fn removals(home: &Home) -> Vec<PathBuf> {
    let entries = fs::read_dir(home.trash_dir()).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.starts_with(PREFIX)).map(PathBuf::from).collect()
}

/// Somebody else may be removing the same.
fn remove_aside(root: &Path, aside: &Path) -> io::Result<RemovedFiles> {
    match host::remove_below(root, aside) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(RemovedFiles::default()),
        removed => removed,
    }
}
