//! Folders that killed landings left behind. A file that such a landing had taken away is removed only if the repository
//! has its content: whatever a user saved at the last moment may be nowhere else.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::lease::claimant;
use crate::swap::{OWNER, PUT, places};
use crate::{GitError, Repository};

/// Removes what landings left that were killed, and tells how many folders that were.
pub async fn clear_landings(repository: &Repository) -> Result<usize, GitError> {
    let top = repository.top();
    let mut cleared = 0;
    clear_index_lock(repository)?;
    for place in places(repository) {
        let folder = top.join(&place);
        if !is_dead(&folder) || !is_kept(repository, &folder).await? {
            continue;
        }
        host::remove_below(top, &place).map_err(GitError::file(&folder))?;
        cleared += 1;
    }
    Ok(cleared)
}

/// Removes the lock of the index if a landing that was killed left it, and tells how many that were. Such a lock is the
/// same file as one in the landing's own folder, and the folder says that its process is dead: nobody else can have made
/// it, and nobody who lives holds it.
pub(crate) fn clear_index_lock(repository: &Repository) -> Result<usize, GitError> {
    let lock = repository.git_dir().join("index.lock");
    let file = |path: &Path| fs::symlink_metadata(path).ok().map(|found| (found.dev(), found.ino()));
    let Some(held) = file(&lock) else { return Ok(0) };
    let left = places(repository).map(|place| repository.top().join(place)).any(|folder| {
        // The claim is read last: whoever is alive then was alive when the lock was looked at.
        file(&folder.join(PUT)) == Some(held) && is_dead(&folder)
    });
    if !left {
        return Ok(0);
    }
    fs::remove_file(&lock).map_err(GitError::file(&lock))?;
    Ok(1)
}

/// Whether a folder is that of a landing whose process is gone. One without an owner is just being made.
fn is_dead(folder: &Path) -> bool {
    folder.join(OWNER).is_file() && claimant(folder, Path::new(OWNER)).is_none()
}

/// Whether the repository has everything that was taken away.
async fn is_kept(repository: &Repository, folder: &Path) -> Result<bool, GitError> {
    let mut files = Vec::new();
    if list(&folder.join("old"), &mut files).is_err() {
        return Ok(false);
    }
    // What is missing is missing: nothing is fetched to know that.
    let git = repository.git().clone().with("GIT_NO_LAZY_FETCH", "1");
    let (links, plain): (Vec<PathBuf>, Vec<PathBuf>) = files.into_iter().partition(|file| file.is_symlink());
    let mut ids = String::new();
    for link in links {
        let target = fs::read_link(&link).map_err(GitError::file(&link))?;
        let said = git.done(&["hash-object", "--no-filters", "--stdin"], target.as_os_str().as_bytes()).await?;
        ids += &format!("{}\n", said.text());
    }
    let mut paths: Vec<u8> = Vec::new();
    for path in plain.iter().map(|path| path.as_os_str().as_bytes()) {
        if path.contains(&b'\n') {
            return Ok(false);
        }
        paths.extend(path.iter().chain(b"\n"));
    }
    if !paths.is_empty() {
        let said = git.done(&["hash-object", "--no-filters", "--stdin-paths"], &paths).await?;
        ids += &format!("{}\n", said.text());
    }
    if ids.is_empty() {
        return Ok(true);
    }
    let found = git.done(&["cat-file", "--batch-check"], ids.as_bytes()).await?.text();
    Ok(!found.lines().any(|line| line.ends_with(" missing")))
}

/// Every file and link below a folder. There is none if there is no folder.
fn list(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            list(&entry.path(), files)?;
        } else {
            files.push(entry.path());
        }
    }
    Ok(())
}
