//! Changes of files by tools: each is recorded before it is made, so that it can be taken back.

use std::fmt;
use std::path::Path;

use host::{CheckedPath, ExpectedContent, FileError, Workspace};

use crate::CallIdentity;
use crate::workspace_files::lock_file;

/// Records changes of files.
pub trait FileChangeRecorder: Send + Sync + fmt::Debug {
    /// Records a change that a call is about to make. If it fails, the opposite change is recorded after it.
    fn record(&self, call: &CallIdentity, path: &Path, change: FileChange<'_>);
}

/// A change of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileChange<'a> {
    /// The file before.
    pub before: FileState<'a>,
    /// The file afterwards.
    pub after: FileState<'a>,
}

/// What a path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileState<'a> {
    /// Nothing.
    Missing,
    /// A file.
    File {
        /// Its content.
        bytes: &'a [u8],
        /// Its permissions.
        mode: u32,
    },
    /// A file that cannot be read, such as one that is too large.
    Unread,
}

/// Permissions of files that are created without any in particular, for those who look at a record.
pub(crate) const USUAL_MODE: u32 = 0o644;

/// Reads a path, and passes on what it leads to.
pub(crate) fn with_state<T>(place: &CheckedPath, most: u64, work: impl FnOnce(FileState<'_>) -> T) -> T {
    match place.read(most) {
        Ok(file) => work(FileState::File { bytes: &file.bytes, mode: file.mode }),
        Err(FileError::Missing(_) | FileError::FolderMissing(_)) => work(FileState::Missing),
        Err(_unread) => work(FileState::Unread),
    }
}

/// Passes on what a path leads to; `None` if it leads elsewhere by now.
pub fn read_state<T>(
    workspace: &Workspace,
    path: &Path,
    most: u64,
    work: impl FnOnce(FileState<'_>) -> T,
) -> Option<T> {
    Some(with_state(&resolve_exactly(workspace, path)?, most, work))
}

/// The path, unless a link leads elsewhere.
fn resolve_exactly(workspace: &Workspace, path: &Path) -> Option<CheckedPath> {
    workspace.resolve(path).ok().filter(|place| place.path() == path)
}

/// Why a file is not restored.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// Something else is there than what may be replaced.
    #[error("the file has changed since")]
    Changed,
    /// A link or something else is in the way.
    #[error("the path leads elsewhere by now")]
    Moved,
    /// The file system refuses.
    #[error(transparent)]
    File(#[from] FileError),
}

/// Replaces a file by an earlier state of it, if `expected` accepts what is there, and calls `record` before. No agent of
/// this process changes the file meanwhile. An unread state cannot be restored.
pub fn restore_file(
    workspace: &Workspace,
    path: &Path,
    most: u64,
    target: FileState<'_>,
    expected: impl FnOnce(FileState<'_>) -> bool,
    record: impl FnOnce(FileState<'_>),
) -> Result<(), RestoreError> {
    let place = resolve_exactly(workspace, path).ok_or(RestoreError::Moved)?;
    let _lock = lock_file(&place);
    let stamp = place.stamp().ok();
    let is_expected = with_state(&place, most, |current| {
        let is_expected = expected(current);
        if is_expected {
            record(current);
        }
        is_expected
    });
    match (target, stamp) {
        _ if !is_expected => Err(RestoreError::Changed),
        (FileState::Unread, _) => Err(RestoreError::Changed),
        (FileState::Missing, None) => Ok(()),
        (FileState::Missing, Some(stamp)) => Ok(place.remove(ExpectedContent::Unchanged(stamp))?),
        (FileState::File { bytes, .. }, Some(stamp)) => {
            place.write(bytes, ExpectedContent::Unchanged(stamp))?;
            Ok(())
        }
        (FileState::File { bytes, mode }, None) => {
            workspace.create_parents(&place)?;
            place.write_new(bytes, mode)?;
            Ok(())
        }
    }
}
