//! Creates, moves and removes Bosun's own folders below a root, and never outside it. No link is followed, and mounts
//! of other file systems are left alone.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, RenameFlags, fchmod, fstat, renameat_with, statat, unlinkat};
use rustix::io::Errno;

use super::root::{FOLDER_FLAGS, WorkspaceRoot, open_beneath};

/// Maximum depth of folders that are removed in place. Deeper ones are moved to the top first.
const MAX_DEPTH: usize = 64;

/// The totals of a removal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RemovedFiles {
    /// The number of files and folders.
    pub entries: u64,
    /// The bytes of their content.
    pub bytes: u64,
}

/// Creates the folders of a path below a root, which must exist; returns the path without links. A link in the way is
/// an error.
pub fn make_below(root: &Path, below: &Path) -> io::Result<PathBuf> {
    require_below(below)?;
    let root = WorkspaceRoot::open(root)?;
    root.make_folders(below)?;
    Ok(root.path.join(below))
}

/// Moves a path below a root to a free path below it. A folder that its owner may not write to gets a mode that allows
/// it: a move rewrites the folder's own `..` entry.
pub fn move_below(root: &Path, from: &Path, to: &Path) -> io::Result<()> {
    let root = WorkspaceRoot::open(root)?;
    let ((old, old_name), (new, new_name)) = (parent_of(&root, from)?, parent_of(&root, to)?);
    match renameat_with(&old, old_name, &new, new_name, RenameFlags::NOREPLACE) {
        Err(Errno::ACCESS) => {
            open_writable_folder(&old, old_name)?;
            Ok(renameat_with(&old, old_name, &new, new_name, RenameFlags::NOREPLACE)?)
        }
        moved => Ok(moved?),
    }
}

/// Swaps two paths below a root in one step.
pub fn swap_below(root: &Path, first: &Path, second: &Path) -> io::Result<()> {
    let root = WorkspaceRoot::open(root)?;
    let ((a, a_name), (b, b_name)) = (parent_of(&root, first)?, parent_of(&root, second)?);
    Ok(renameat_with(&a, a_name, &b, b_name, RenameFlags::EXCHANGE)?)
}

/// Removes a path below a root, with everything in it; a link is removed, not its target.
pub fn remove_below(root: &Path, below: &Path) -> io::Result<RemovedFiles> {
    let (folder, name) = parent_of(&WorkspaceRoot::open(root)?, below)?;
    let device = fstat(&folder)?.st_dev;
    let mut removal = FolderRemoval { top: folder, device, moved_up: 0, removed: RemovedFiles::default() };
    removal.remove(&removal.top.try_clone()?, name, 0)?;
    Ok(removal.removed)
}

/// A removal in progress.
struct FolderRemoval {
    /// The folder that contains the removed path.
    top: OwnedFd,
    /// The file system that the removal must not leave.
    device: u64,
    /// How many folders were moved to the top.
    moved_up: u64,
    removed: RemovedFiles,
}

impl FolderRemoval {
    fn remove(&mut self, folder: &OwnedFd, name: &OsStr, depth: usize) -> io::Result<()> {
        let metadata = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if metadata.st_dev != self.device {
            return Err(io::Error::other(format!("{} is on another file system", name.display())));
        }
        if FileType::from_raw_mode(metadata.st_mode) != FileType::Directory {
            unlinkat(folder, name, AtFlags::empty())?;
            self.removed.bytes += u64::try_from(metadata.st_size).unwrap_or_default();
        } else if depth >= MAX_DEPTH {
            return self.remove_from_top(folder, name);
        } else {
            self.remove_entries(folder, name, depth)?;
            unlinkat(folder, name, AtFlags::REMOVEDIR)?;
        }
        self.removed.entries += 1;
        Ok(())
    }

    fn remove_entries(&mut self, folder: &OwnedFd, name: &OsStr, depth: usize) -> io::Result<()> {
        let inside = open_writable_folder(folder, name)?;
        if fstat(&inside)?.st_dev != self.device {
            return Err(io::Error::other(format!("{} is on another file system", name.display())));
        }
        for entry in entry_names(&inside)? {
            match self.remove(&inside, &entry, depth + 1) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                removed => removed?,
            }
        }
        Ok(())
    }

    /// Moves a folder that is too deep to the top, and removes it there.
    fn remove_from_top(&mut self, folder: &OwnedFd, name: &OsStr) -> io::Result<()> {
        self.moved_up += 1;
        let temporary_name = OsString::from(format!(".bosun-removed-{}-{}", std::process::id(), self.moved_up));
        renameat_with(folder, name, &self.top, &temporary_name, RenameFlags::NOREPLACE)?;
        self.remove(&self.top.try_clone()?, &temporary_name, 0)
    }
}

/// Opens a folder so that it can be emptied. If its mode does not let the owner do that, changes the mode.
fn open_writable_folder(folder: &OwnedFd, name: &OsStr) -> io::Result<OwnedFd> {
    let opened = match open_beneath(folder, name, FOLDER_FLAGS, Mode::empty()) {
        Err(Errno::ACCESS) => {
            let path = open_beneath(folder, name, OFlags::PATH | OFlags::DIRECTORY, Mode::empty())?;
            // `fchmod` does not work on such a descriptor. Its link in /proc can lead only to the same folder.
            let proc_path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&path));
            rustix::fs::chmod(proc_path, Mode::RWXU)?;
            open_beneath(folder, name, FOLDER_FLAGS, Mode::empty())?
        }
        opened => opened?,
    };
    let mode = Mode::from_raw_mode(fstat(&opened)?.st_mode);
    if !mode.contains(Mode::RWXU) {
        fchmod(&opened, Mode::RWXU)?;
    }
    Ok(opened)
}

fn entry_names(folder: impl AsFd) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name != "." && name != ".." {
            names.push(name.to_owned());
        }
    }
    Ok(names)
}

/// The parent folder of a path below a root, and the name in it.
fn parent_of<'a>(root: &WorkspaceRoot, below: &'a Path) -> io::Result<(OwnedFd, &'a OsStr)> {
    require_below(below)?;
    let name = below.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let parent = below.parent().unwrap_or(Path::new(""));
    Ok((root.open_below(parent, FOLDER_FLAGS)?, name))
}

/// Allows only names: no `..`, and no absolute path.
fn require_below(below: &Path) -> io::Result<()> {
    let is_name = |part: Component<'_>| matches!(part, Component::Normal(_));
    match below.components().next().is_some() && below.components().all(is_name) {
        true => Ok(()),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{} leaves its root", below.display()))),
    }
}
