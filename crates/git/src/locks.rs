//! Removes locks left by killed processes: of refs by a git command, of the index by a landing.

use std::fs;
use std::io;
use std::path::Path;

use protocol::SessionId;

use crate::leftover::clear_index_lock;
use crate::{Git, GitError, Repository};

/// Removes the locks of a session's own refs, and that of the index if a killed landing left it; returns their number.
/// Only the session's owner may call this, before it runs git: no other process changes these refs, so the holder of a
/// lock is gone. Git would wait for it and fail.
pub async fn clear_ref_locks(git: &Git, session: SessionId) -> Result<usize, GitError> {
    let repository = match Repository::find(git).await {
        Err(GitError::NoRepository(_) | GitError::Bare(_)) => return Ok(0),
        found => found?,
    };
    Ok(clear_index_lock(&repository)? + clear_session_ref_locks(&repository, session)?)
}

fn clear_session_ref_locks(repository: &Repository, session: SessionId) -> Result<usize, GitError> {
    let mut folder = repository.common().to_owned();
    for part in ["refs", "bosun", &session.to_string()] {
        folder.push(part);
        // A link would lead out of the repository.
        if !folder.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            return Ok(0);
        }
    }
    remove_locks(&folder).map_err(GitError::file(&folder))
}

fn remove_locks(folder: &Path) -> io::Result<usize> {
    let mut count = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (kind, path) = (entry.file_type()?, entry.path());
        if kind.is_dir() {
            count += remove_locks(&path)?;
        } else if kind.is_file() && path.extension().is_some_and(|ending| ending == "lock") {
            fs::remove_file(&path)?;
            count += 1;
        }
    }
    Ok(count)
}
