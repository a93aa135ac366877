//! Creates, moves and removes Bosun's own folders below a root, and never outside it. No link is followed, and mounts
//! of other file systems are left alone.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, RenameFlags, fchmod, fstat, renameat_with, statat, unlinkat};
use rustix::io::Errno;

use super::root::{FOLDER, WorkspaceRoot, open_beneath};

/// Maximum depth. Deeper folders are first moved to the top.
const DEEP: usize = 64;

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
            open_folder(&old, old_name)?;
            Ok(renameat_with(&old, old_name, &new, new_name, RenameFlags::NOREPLACE)?)
        }
        moved => Ok(moved?),
    }
}

/// Swaps two paths below a root in one step.
pub fn swap_below(root: &Path, one: &Path, other: &Path) -> io::Result<()> {
    let root = WorkspaceRoot::open(root)?;
    let ((a, a_name), (b, b_name)) = (parent_of(&root, one)?, parent_of(&root, other)?);
    Ok(renameat_with(&a, a_name, &b, b_name, RenameFlags::EXCHANGE)?)
}

/// Removes a path below a root, with everything in it; a link is removed, not its target.
pub fn remove_below(root: &Path, below: &Path) -> io::Result<RemovedFiles> {
    let (folder, name) = parent_of(&WorkspaceRoot::open(root)?, below)?;
    let device = fstat(&folder)?.st_dev;
    let mut sweep = FolderRemoval { top: folder, device, brought: 0, removed: RemovedFiles::default() };
    sweep.remove(&sweep.top.try_clone()?, name, 0)?;
    Ok(sweep.removed)
}

/// A removal in progress.
struct FolderRemoval {
    /// The folder that contains the removed path.
    top: OwnedFd,
    device: u64,
    brought: u64,
    removed: RemovedFiles,
}

impl FolderRemoval {
    fn remove(&mut self, folder: &OwnedFd, name: &OsStr, depth: usize) -> io::Result<()> {
        let found = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if found.st_dev != self.device {
            return Err(io::Error::other(format!("{} is on another file system", name.display())));
        }
        if FileType::from_raw_mode(found.st_mode) != FileType::Directory {
            unlinkat(folder, name, AtFlags::empty())?;
            self.removed.bytes += u64::try_from(found.st_size).unwrap_or_default();
        } else if depth >= DEEP {
            return self.bring_up(folder, name);
        } else {
            self.empty(folder, name, depth)?;
            unlinkat(folder, name, AtFlags::REMOVEDIR)?;
        }
        self.removed.entries += 1;
        Ok(())
    }

    fn empty(&mut self, folder: &OwnedFd, name: &OsStr, depth: usize) -> io::Result<()> {
        let inside = open_folder(folder, name)?;
        if fstat(&inside)?.st_dev != self.device {
            return Err(io::Error::other(format!("{} is on another file system", name.display())));
        }
        for entry in names(&inside)? {
            match self.remove(&inside, &entry, depth + 1) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                removed => removed?,
            }
        }
        Ok(())
    }

    /// Moves a folder that is too deep to the top, and removes it there.
    fn bring_up(&mut self, folder: &OwnedFd, name: &OsStr) -> io::Result<()> {
        self.brought += 1;
        let above = OsString::from(format!(".bosun-removed-{}-{}", std::process::id(), self.brought));
        renameat_with(folder, name, &self.top, &above, RenameFlags::NOREPLACE)?;
        self.remove(&self.top.try_clone()?, &above, 0)
    }
}

/// Opens a folder to empty it, even if its mode forbids that to its owner.
fn open_folder(folder: &OwnedFd, name: &OsStr) -> io::Result<OwnedFd> {
    let opened = match open_beneath(folder, name, FOLDER, Mode::empty()) {
        Err(Errno::ACCESS) => {
            let path = open_beneath(folder, name, OFlags::PATH | OFlags::DIRECTORY, Mode::empty())?;
            // Such a descriptor cannot be given a mode itself; its name in /proc leads only to it.
            let own = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&path));
            rustix::fs::chmod(own, Mode::RWXU)?;
            open_beneath(folder, name, FOLDER, Mode::empty())?
        }
        opened => opened?,
    };
    let mode = Mode::from_raw_mode(fstat(&opened)?.st_mode);
    if !mode.contains(Mode::RWXU) {
        fchmod(&opened, Mode::RWXU)?;
    }
    Ok(opened)
}

fn names(folder: impl AsFd) -> io::Result<Vec<OsString>> {
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
    Ok((root.open_below(parent, FOLDER)?, name))
}

/// Allows only names: no `..`, and no absolute path.
fn require_below(below: &Path) -> io::Result<()> {
    let plain = |part: Component<'_>| matches!(part, Component::Normal(_));
    match below.components().next().is_some() && below.components().all(plain) {
        true => Ok(()),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{} leaves its root", below.display()))),
    }
}
