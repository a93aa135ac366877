//! What can go wrong with a file, told apart by what a person would do about it.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use protocol::{Fence, SessionId};
use rusqlite::{Error, ErrorCode};

/// Why the store did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// There is no such session.
    #[error("no session {id} at {path}; `bosun sessions` lists those there are")]
    Missing {
        /// The session asked for.
        id: SessionId,
        /// Where its file would be.
        path: PathBuf,
    },
    /// The session is there already.
    #[error("session {id} exists already at {path}")]
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
    /// Another process has taken the session over since.
    #[error("another process took the session over ({theirs}, ours was {ours}); nothing was written")]
    Fenced {
        /// The number this writer holds.
        ours: Fence,
        /// The number the file holds.
        theirs: Fence,
    },
    /// A newer version wrote the file.
    #[error("{path} has format {found} and this bosun knows formats up to {known}; open it with the newer bosun")]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The newest format known here.
        known: u32,
    },
    /// An older version wrote the file, and only a process that may write can bring it up to date.
    #[error("{path} was written by an older bosun; resume the session once to bring it up to date")]
    Older {
        /// The file.
        path: PathBuf,
    },
    /// The file's content is not what was written.
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
    /// Events are missing that were committed.
    #[error(
        "{path} has lost its last {} events: it ends at event {found}, and {committed} were committed; what they did \
         may be done again; `bosun sessions export` shows what is left, and `bosun sessions repair` accepts it",
        committed - found
    )]
    Lost {
        /// The file.
        path: PathBuf,
        /// The last event that is there.
        found: u64,
        /// The last event that was committed.
        committed: u64,
    },
    /// Its log is not the one that was committed.
    #[error(
        "the log in {path} is not the one that was committed up to event {upto}: it is damaged, or something else than \
         bosun wrote to it; `bosun sessions export` shows it, and `bosun sessions repair` accepts it"
    )]
    Altered {
        /// The file.
        path: PathBuf,
        /// Up to here it should be known.
        upto: u64,
    },
    /// The session's folder was removed while it ran.
    #[error("{path} was removed while the session ran, so nothing can be kept of it; nothing more is done")]
    Removed {
        /// The file.
        path: PathBuf,
    },
    /// The disk is full.
    #[error("no space left on the disk of {path}; nothing is half written: free some space and go on")]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// The file, its folder or its file system cannot be written.
    #[error("{path} cannot be written, since the file, its folder or its file system is read-only")]
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
        /// What it said.
        detail: String,
    },
    /// Somebody else held the file for longer than anybody should.
    #[error("{path} stayed locked by another process; try again, or see which process has it open")]
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
    /// SQLite said something that nothing here accounts for.
    #[error("unexpected database error on {path}: {detail}")]
    Unexpected {
        /// The file.
        path: PathBuf,
        /// What it said.
        detail: String,
    },
}

/// Turns SQLite's errors about the file at `path` into ours.
pub(crate) fn fault(path: &Path) -> impl Fn(Error) -> StoreError {
    move |error| {
        let (path, detail) = (path.to_owned(), error.to_string());
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => StoreError::Corrupt { path, detail },
            Some(ErrorCode::DiskFull) => StoreError::Full { path },
            Some(ErrorCode::ReadOnly) => StoreError::ReadOnly { path },
            Some(ErrorCode::PermissionDenied) => StoreError::Denied { path },
            Some(ErrorCode::CannotOpen) => cannot_open(path, detail),
            // A full disk can also show as a failed fsync or a shared-memory file that does not grow.
            Some(ErrorCode::SystemIoFailure) if is_full(&path) => StoreError::Full { path },
            Some(ErrorCode::SystemIoFailure) => StoreError::Io { path, detail },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed) => {
                StoreError::Locked { path }
            }
            None if is_content(&error) => StoreError::Corrupt { path, detail },
            _ => StoreError::Unexpected { path, detail },
        }
    }
}

/// Turns the operating system's errors about `path` into ours.
pub(crate) fn os_fault(path: &Path) -> impl Fn(io::Error) -> StoreError {
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

/// An error for a stored value that does not read back.
pub(crate) fn unreadable(what: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::FromSqlConversionFailure(0, rusqlite::types::Type::Text, what.into())
}

/// Says why a file did not open, which SQLite does not; a readable file whose companions (`-wal`, `-shm`) cannot
/// be made is one in a read-only folder.
fn cannot_open(path: PathBuf, detail: String) -> StoreError {
    match File::open(&path) {
        Err(error) => os_fault(&path)(error),
        Ok(_) if is_full(&path) => StoreError::Full { path },
        Ok(_) if !companion(&path, "-shm").exists() => StoreError::ReadOnly { path },
        Ok(_) => StoreError::Io { path, detail },
    }
}

/// The path of a file that SQLite keeps beside the database.
pub(crate) fn companion(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

fn is_full(path: &Path) -> bool {
    const LEAST: u64 = 64 * 1024;
    path.parent().and_then(|folder| host::machine::free_bytes(folder).ok()).is_some_and(|free| free < LEAST)
}

fn is_content(error: &Error) -> bool {
    matches!(
        error,
        Error::FromSqlConversionFailure(..)
            | Error::IntegralValueOutOfRange(..)
            | Error::InvalidColumnType(..)
            | Error::Utf8Error(..)
    )
}
