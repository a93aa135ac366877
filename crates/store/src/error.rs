//! Errors of the store, distinguished by what the user can do about them.

use std::io;
use std::path::{Path, PathBuf};

use protocol::{Fence, SessionId};
use rusqlite::{Error, ErrorCode};

/// Why a store operation failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// There is no such session.
    #[error("no session {id} at {path}; `bosun sessions` lists all sessions")]
    Missing {
        /// The requested session.
        id: SessionId,
        /// Where its file would be.
        path: PathBuf,
    },
    /// The session already exists.
    #[error("session {id} already exists at {path}")]
    Exists {
        /// The session.
        id: SessionId,
        /// Its folder.
        path: PathBuf,
    },
    /// A live process runs the session.
    #[error("the session is run by process {pid}; send it a message, or stop that process first")]
    Owned {
        /// That process.
        pid: u32,
    },
    /// Another process has adopted the session.
    #[error("another process has adopted the session ({theirs}, ours was {ours}); nothing was written")]
    Fenced {
        /// The fence of this writer.
        ours: Fence,
        /// The fence in the file.
        theirs: Fence,
    },
    /// A newer version wrote the file.
    #[error("{path} has format {found}, but this version of Bosun reads formats up to {known}; use a newer version")]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The newest format known here.
        known: u32,
    },
    /// An older version wrote the file, and it cannot be migrated without writing to it.
    #[error("{path} was written by an older version of Bosun; resume the session once to bring it up to date")]
    Older {
        /// The file.
        path: PathBuf,
    },
    /// The file is damaged.
    #[error(
        "{path} is damaged: {detail}; other sessions are unaffected; \
         `bosun sessions export` writes what can still be read and `bosun sessions rm` removes it"
    )]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        detail: String,
    },
    /// Committed events are missing.
    #[error(
        "{path} has lost its last {} events: it ends at event {found}, and {committed} were committed; their effects \
         may be repeated; `bosun sessions export` shows what is left, and `bosun sessions repair` accepts it",
        committed - found
    )]
    Lost {
        /// The file.
        path: PathBuf,
        /// The last event in the file.
        found: u64,
        /// The last event that was committed.
        committed: u64,
    },
    /// Its log differs from the committed one.
    #[error(
        "the log in {path} differs from the one that was committed up to event {upto}: it is damaged, or another \
         program wrote to it; `bosun sessions export` shows it, and `bosun sessions repair` accepts it"
    )]
    Altered {
        /// The file.
        path: PathBuf,
        /// The last event that was committed.
        upto: u64,
    },
    /// The session's folder was removed while it ran.
    #[error("{path} was removed while the session ran, so nothing more can be saved; the session stops")]
    Removed {
        /// The file.
        path: PathBuf,
    },
    /// The disk is full.
    #[error("no space left on the disk of {path}; what was saved before is intact: free some space and continue")]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// The file, its folder or its file system cannot be written.
    #[error("{path} cannot be written, because the file, its folder or its file system is read-only")]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// This user may not open the file.
    #[error("permission denied for {path}; run as the user who owns it, or set BOSUN_HOME to a folder of your own")]
    Denied {
        /// The file.
        path: PathBuf,
    },
    /// The operating system failed.
    #[error("input/output error on {path}: {detail}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's message.
        detail: String,
    },
    /// Another process kept the file locked for too long.
    #[error("{path} is locked by another process; try again, or find out which process has it open")]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// The writer's thread has ended.
    #[error("the writer of {path} has ended; open the session again")]
    Closed {
        /// The file.
        path: PathBuf,
    },
    /// The home folder could not be used.
    #[error("{0}")]
    Home(String),
    /// An unexpected SQLite error.
    #[error("unexpected database error on {path}: {detail}")]
    Unexpected {
        /// The file.
        path: PathBuf,
        /// SQLite's message.
        detail: String,
    },
}

/// Converts SQLite errors about the file at `path`.
pub(crate) fn sqlite_error(path: &Path) -> impl Fn(Error) -> StoreError {
    move |error| {
        let (path, detail) = (path.to_owned(), error.to_string());
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => StoreError::Corrupt { path, detail },
            Some(ErrorCode::DiskFull) => StoreError::Full { path },
            Some(ErrorCode::ReadOnly) => StoreError::ReadOnly { path },
            Some(ErrorCode::PermissionDenied) => StoreError::Denied { path },
            Some(ErrorCode::CannotOpen) => cannot_open(path, detail),
            // A full disk can also show as a failed fsync or a shared-memory file that does not grow.
            Some(ErrorCode::SystemIoFailure) if is_disk_full(&path) => StoreError::Full { path },
            Some(ErrorCode::SystemIoFailure) => StoreError::Io { path, detail },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed) => {
                StoreError::Locked { path }
            }
            None if is_invalid_value(&error) => StoreError::Corrupt { path, detail },
            _ => StoreError::Unexpected { path, detail },
        }
    }
}

/// Converts operating system errors about `path`.
pub(crate) fn io_error(path: &Path) -> impl Fn(io::Error) -> StoreError {
    move |error| {
        let path = path.to_owned();
        match error.kind() {
            io::ErrorKind::PermissionDenied => StoreError::Denied { path },
            io::ErrorKind::ReadOnlyFilesystem => StoreError::ReadOnly { path },
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::Full { path },
            _ => StoreError::Io { path, detail: error.to_string() },
        }
    }
}

/// An error for a stored value that cannot be read.
pub(crate) fn unreadable(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::FromSqlConversionFailure(0, rusqlite::types::Type::Text, cause.into())
}

/// Finds out why a file did not open, which SQLite does not say. A readable file whose companions (`-wal`, `-shm`)
/// cannot be created is in a read-only folder.
fn cannot_open(path: PathBuf, detail: String) -> StoreError {
    // Not opened: closing it again would drop the locks of this process's other connections to it.
    match host::check_readable(&path) {
        Err(error) => io_error(&path)(error),
        Ok(()) if is_disk_full(&path) => StoreError::Full { path },
        Ok(()) if !companion_path(&path, "-shm").exists() => StoreError::ReadOnly { path },
        Ok(()) => StoreError::Io { path, detail },
    }
}

/// The path of a companion file that SQLite keeps next to the database.
pub(crate) fn companion_path(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Whether the disk of this file has too little space left to write.
fn is_disk_full(path: &Path) -> bool {
    const MIN_FREE_BYTES: u64 = 64 * 1024;
    path.parent().and_then(|folder| host::machine::free_bytes(folder).ok()).is_some_and(|free| free < MIN_FREE_BYTES)
}

/// Whether a stored value has the wrong type or content.
fn is_invalid_value(error: &Error) -> bool {
    matches!(
        error,
        Error::FromSqlConversionFailure(..)
            | Error::IntegralValueOutOfRange(..)
            | Error::InvalidColumnType(..)
            | Error::Utf8Error(..)
    )
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;
    use crate::connect;

    #[test]
    fn finding_out_why_a_file_did_not_open_keeps_the_lock_on_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("session.db");
        let conn = connect::create(&path).unwrap();
        conn.pragma_update(None, "journal_mode", "WAL").unwrap();
        conn.execute_batch("CREATE TABLE t (a)").unwrap();
        let inode = std::fs::metadata(&path).unwrap().ino();
        let is_locked = || {
            let locks = std::fs::read_to_string("/proc/locks").unwrap();
            locks.lines().any(|line| line.contains(&format!(":{inode} 107374")))
        };
        assert!(is_locked());
        assert_eq!(
            cannot_open(path.clone(), "why".into()),
            StoreError::Io { path: path.clone(), detail: "why".into() }
        );
        assert!(is_locked());
        let missing = folder.path().join("missing.db");
        assert!(matches!(cannot_open(missing.clone(), "why".into()), StoreError::Io { path, .. } if path == missing));
    }
}
