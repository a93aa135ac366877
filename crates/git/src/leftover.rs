//! Cleans up folders of killed landings. A file that such a landing had moved away is removed only if the repository
//! has its content: a version that the user saved at the last moment may be nowhere else.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::lease::live_claimant;
use crate::swap::{INSTALLED_INDEX, OWNER, landing_folders};
use crate::{GitError, Repository};

/// Removes the folders of killed landings; returns their number.
pub async fn clear_landings(repository: &Repository) -> Result<usize, GitError> {
    let top = repository.top();
    let mut cleared = 0;
    clear_index_lock(repository)?;
    for path in landing_folders(repository) {
        let folder = top.join(&path);
        if !is_abandoned(&folder) || !is_in_repository(repository, &folder).await? {
            continue;
        }
        host::remove_below(top, &path).map_err(GitError::file(&folder))?;
        cleared += 1;
    }
    Ok(cleared)
}

/// Removes the lock of the index if a killed landing left it; returns the number of locks removed. Such a lock is the
/// same file as one in the landing's own folder, and the folder shows that its process is dead: no other process can
/// have created it, and no live process holds it.
pub(crate) fn clear_index_lock(repository: &Repository) -> Result<usize, GitError> {
    let lock = repository.git_dir().join("index.lock");
    let file_id = |path: &Path| fs::symlink_metadata(path).ok().map(|found| (found.dev(), found.ino()));
    let Some(lock_id) = file_id(&lock) else { return Ok(0) };
    let is_abandoned_lock = landing_folders(repository).map(|path| repository.top().join(path)).any(|folder| {
        // Read the claim last: a process that is alive then was alive when the lock was read.
        file_id(&folder.join(INSTALLED_INDEX)) == Some(lock_id) && is_abandoned(&folder)
    });
    if !is_abandoned_lock {
        return Ok(0);
    }
    fs::remove_file(&lock).map_err(GitError::file(&lock))?;
    Ok(1)
}

/// Whether a folder belongs to a landing whose process is gone. A folder without an owner file is just being created.
fn is_abandoned(folder: &Path) -> bool {
    folder.join(OWNER).is_file() && live_claimant(folder, Path::new(OWNER)).is_none()
}

/// Whether the repository has all files that were moved away.
async fn is_in_repository(repository: &Repository, folder: &Path) -> Result<bool, GitError> {
    let mut files = Vec::new();
    if collect_files(&folder.join("old"), &mut files).is_err() {
        return Ok(false);
    }
    // Nothing is fetched to find out what is missing.
    let git = repository.git().clone().with_env("GIT_NO_LAZY_FETCH", "1");
    let (links, plain): (Vec<PathBuf>, Vec<PathBuf>) = files.into_iter().partition(|file| file.is_symlink());
    let mut ids = String::new();
    for link in links {
        let target = fs::read_link(&link).map_err(GitError::file(&link))?;
        let output =
            git.run_checked(&["hash-object", "--no-filters", "--stdin"], target.as_os_str().as_bytes()).await?;
        ids += &format!("{}\n", output.run_for_text());
    }
    let mut paths: Vec<u8> = Vec::new();
    for path in plain.iter().map(|path| path.as_os_str().as_bytes()) {
        if path.contains(&b'\n') {
            return Ok(false);
        }
        paths.extend(path.iter().chain(b"\n"));
    }
    if !paths.is_empty() {
        let output = git.run_checked(&["hash-object", "--no-filters", "--stdin-paths"], &paths).await?;
        ids += &format!("{}\n", output.run_for_text());
    }
    if ids.is_empty() {
        return Ok(true);
    }
    let states = git.run_checked(&["cat-file", "--batch-check"], ids.as_bytes()).await?.run_for_text();
    Ok(!states.lines().any(|line| line.ends_with(" missing")))
}

/// Collects all files and links below a folder; none if there is no folder.
fn collect_files(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            collect_files(&entry.path(), files)?;
        } else {
            files.push(entry.path());
        }
    }
    Ok(())
}
