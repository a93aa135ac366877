//! Errors of paths and files, with messages that a model can act on.

use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

/// Why a path does not lead into the workspace.
#[derive(Debug, thiserror::Error)]
pub enum PathError {
    /// It leads out of the workspace, perhaps through a symbolic link.
    #[error("{} is outside the workspace; use a path under {}", path.display(), list(roots))]
    Outside {
        /// The path as given.
        path: PathBuf,
        /// The folders that may be used.
        roots: Vec<PathBuf>,
    },
    /// It is empty, or contains a NUL byte.
    #[error("`{}` is not a valid path; give a file name without NUL bytes", .0.display())]
    Invalid(PathBuf),
    /// It goes back up from a folder that does not exist.
    #[error("{} does not exist, so `..` cannot lead back from it; use the direct path", .0.display())]
    Missing(PathBuf),
    /// It is a symbolic link to nothing.
    #[error("{} is a symbolic link to something that does not exist; remove it or use its target's path", .0.display())]
    Dangling(PathBuf),
    /// It continues below a file.
    #[error("{} is a file and has nothing below it; check the path", .0.display())]
    NotDirectory(PathBuf),
    /// Its symbolic links form a loop.
    #[error("the symbolic links of {} form a loop; use the direct path", .0.display())]
    LinkLoop(PathBuf),
    /// It is longer than the system allows.
    #[error("a path of {0} bytes or a part of it is too long for this system; use shorter names")]
    TooLong(usize),
    /// It leads through a folder that may not be entered.
    #[error("no permission to follow {}; use another path", .0.display())]
    Forbidden(PathBuf),
    /// The workspace itself was deleted or moved.
    #[error("the working directory {} no longer exists; nothing can be read or written there", .0.display())]
    WorkspaceGone(PathBuf),
    /// Anything else.
    #[error("cannot follow {}: {source}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl PathError {
    pub(super) fn from(path: &Path, source: io::Error) -> PathError {
        let owned = path.to_owned();
        match Errno::from_io_error(&source) {
            Some(Errno::LOOP) => PathError::LinkLoop(owned),
            Some(Errno::NAMETOOLONG) => PathError::TooLong(path.as_os_str().len()),
            Some(Errno::ACCESS | Errno::PERM) => PathError::Forbidden(owned),
            Some(_) => PathError::Io { path: owned, source },
            // Not a system error: the name contains a NUL byte.
            None => PathError::Invalid(owned),
        }
    }
}

fn list(roots: &[PathBuf]) -> String {
    roots.iter().map(|root| root.display().to_string()).collect::<Vec<_>>().join(" or ")
}

/// Why a file was not read or written. After a failed write the old file is intact.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// There is no such file.
    #[error("{} does not exist; check the path or create it", .0.display())]
    Missing(PathBuf),
    /// The folder it should be in does not exist.
    #[error("the folder of {} does not exist; create it first", .0.display())]
    FolderMissing(PathBuf),
    /// The file already exists.
    #[error("{} already exists; edit it or choose another path", .0.display())]
    Exists(PathBuf),
    /// It has changed since it was read.
    #[error("{} has changed since it was read; read it again, then repeat the change", .0.display())]
    Changed(PathBuf),
    /// It is a folder.
    #[error("{} is a directory, not a file; name a file in it", .0.display())]
    Directory(PathBuf),
    /// It is a pipe, a socket or a device.
    #[error("{} is a {kind}, not a regular file; it cannot be read or written here", path.display())]
    Special {
        /// The path.
        path: PathBuf,
        /// What it is.
        kind: &'static str,
    },
    /// The file or its folder may not be used in this way.
    #[error("no permission for {}; check its mode and its owner", .0.display())]
    Forbidden(PathBuf),
    /// It is larger than the limit.
    #[error("{} has {size} bytes, more than the {most} that can be read at once; read a part of it", path.display())]
    TooLarge {
        /// The path.
        path: PathBuf,
        /// Its size in bytes.
        size: u64,
        /// The limit in bytes.
        most: u64,
    },
    /// A symbolic link or a file was put in the way after the path was checked.
    #[error("{} was replaced while it was used; check the path again", .0.display())]
    Replaced(PathBuf),
    /// The disk is full, or the user's quota.
    #[error("no space left to write {}; free some and try again", .0.display())]
    Full(PathBuf),
    /// The file system is read-only.
    #[error("{} is on a read-only file system; write elsewhere", .0.display())]
    ReadOnly(PathBuf),
    /// Anything else.
    #[error("cannot use {}: {source}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl FileError {
    pub(super) fn from(path: &Path, source: impl Into<io::Error>) -> FileError {
        let (path, source) = (path.to_owned(), source.into());
        match Errno::from_io_error(&source) {
            Some(Errno::NOENT) => FileError::Missing(path),
            Some(Errno::EXIST) => FileError::Exists(path),
            Some(Errno::ISDIR) => FileError::Directory(path),
            Some(Errno::LOOP | Errno::XDEV | Errno::NOTDIR) => FileError::Replaced(path),
            Some(Errno::ACCESS | Errno::PERM) => FileError::Forbidden(path),
            Some(Errno::NOSPC | Errno::DQUOT) => FileError::Full(path),
            Some(Errno::ROFS) => FileError::ReadOnly(path),
            Some(Errno::NXIO) => FileError::Special { path, kind: "socket" },
            Some(_) | None => FileError::Io { path, source },
        }
    }
}
