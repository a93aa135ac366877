//! One folder of a workspace, held open.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, mkdirat, openat, openat2};
use rustix::io::Errno;

/// A folder in which files may be used. It stays the same folder even if another one gets its path.
#[derive(Debug)]
pub(super) struct WorkspaceRoot {
    pub(super) path: PathBuf,
    folder: OwnedFd,
}

impl WorkspaceRoot {
    pub(super) fn open(path: &Path) -> io::Result<WorkspaceRoot> {
        let path = path.canonicalize()?;
        let folder = openat(CWD, &path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(WorkspaceRoot { path, folder })
    }

    /// Opens a path below this folder; follows no link.
    pub(super) fn open_below(&self, below: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
        let below = if below.as_os_str().is_empty() { Path::new(".") } else { below };
        open_beneath(&self.folder, below.as_os_str(), flags, Mode::empty())
    }

    /// Creates the missing folders of a path.
    pub(super) fn make_folders(&self, below: &Path) -> rustix::io::Result<()> {
        let mut folder = self.open_below(Path::new(""), FOLDER_FLAGS)?;
        for part in below.components() {
            let part = part.as_os_str();
            match mkdirat(&folder, part, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno),
            }
            folder = open_beneath(&folder, part, FOLDER_FLAGS, Mode::empty())?;
        }
        Ok(())
    }
}

/// Flags to open a folder.
pub(super) const FOLDER_FLAGS: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY);
/// How often a path is opened again: the system requests that when something is renamed meanwhile.
const MAX_TRIES: usize = 16;

/// Opens a path below a folder; a link anywhere in it is an error, and so is leaving the folder.
pub(super) fn open_beneath(folder: impl AsFd, path: &OsStr, flags: OFlags, mode: Mode) -> rustix::io::Result<OwnedFd> {
    let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let mut opened = Err(Errno::AGAIN);
    for _ in 0..MAX_TRIES {
        opened = openat2(&folder, path, flags, mode, resolve);
        if !matches!(opened, Err(Errno::AGAIN | Errno::INTR)) {
            break;
        }
    }
    opened
}
