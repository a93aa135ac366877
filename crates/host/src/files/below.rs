//! Folders of Bosun's own: made, moved and removed below a root, and never outside it. No link is followed, and what is
//! mounted from elsewhere is left alone.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, RenameFlags, fchmod, fstat, renameat_with, statat, unlinkat};
use rustix::io::Errno;

use super::root::{FOLDER, WorkspaceRoot, open_beneath};

/// How deep folders are followed. What lies deeper is first brought up to the top.
const DEEP: usize = 64;

/// What was removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RemovedFiles {
    /// How many files and folders.
    pub entries: u64,
    /// How many bytes their content had.
    pub bytes: u64,
}

/// Makes the folders of a path below a root, which must exist, and gives the path without links. A link in the way is an
/// error.
pub fn make_below(root: &Path, below: &Path) -> io::Result<PathBuf> {
    require_below(below)?;
    let root = WorkspaceRoot::open(root)?;
    root.make_folders(below)?;
    Ok(root.path.join(below))
}

/// Gives what is below a root another place below it that is free. A folder that its owner may not write to gets a mode
/// that allows it: the way to the folder above is part of what is written.
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

/// Gives two things below a root each other's place, in one step.
pub fn swap_below(root: &Path, one: &Path, other: &Path) -> io::Result<()> {
    let root = WorkspaceRoot::open(root)?;
    let ((a, a_name), (b, b_name)) = (parent_of(&root, one)?, parent_of(&root, other)?);
    Ok(renameat_with(&a, a_name, &b, b_name, RenameFlags::EXCHANGE)?)
}

/// Removes what is below a root, with everything in it; a link is removed, and not what it leads to.
pub fn remove_below(root: &Path, below: &Path) -> io::Result<RemovedFiles> {
    let (folder, name) = parent_of(&WorkspaceRoot::open(root)?, below)?;
    let device = fstat(&folder)?.st_dev;
    let mut sweep = FolderRemoval { top: folder, device, brought: 0, removed: RemovedFiles::default() };
    sweep.remove(&sweep.top.try_clone()?, name, 0)?;
    Ok(sweep.removed)
}

/// One removal under way.
struct FolderRemoval {
    /// The folder that what is removed stands in.
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

    /// Removes a folder that lies too deep from a place where it does not.
    fn bring_up(&mut self, folder: &OwnedFd, name: &OsStr) -> io::Result<()> {
        self.brought += 1;
        let above = OsString::from(format!(".bosun-removed-{}-{}", std::process::id(), self.brought));
        renameat_with(folder, name, &self.top, &above, RenameFlags::NOREPLACE)?;
        self.remove(&self.top.try_clone()?, &above, 0)
    }
}

/// Opens a folder to empty it, though its mode forbids that to its owner.
fn open_folder(folder: &OwnedFd, name: &OsStr) -> io::Result<OwnedFd> {
    let opened = match open_beneath(folder, name, FOLDER, Mode::empty()) {
        Err(Errno::ACCESS) => {
            let path = open_beneath(folder, name, OFlags::PATH | OFlags::DIRECTORY, Mode::empty())?;
            // A descriptor of this kind cannot be given a mode itself; its name in /proc leads to it and nowhere else.
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

/// The folder that a path below a root stands in, and its name there.
fn parent_of<'a>(root: &WorkspaceRoot, below: &'a Path) -> io::Result<(OwnedFd, &'a OsStr)> {
    require_below(below)?;
    let name = below.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let parent = below.parent().unwrap_or(Path::new(""));
    Ok((root.open_below(parent, FOLDER)?, name))
}

/// Only names: no way up, and no way from the top.
fn require_below(below: &Path) -> io::Result<()> {
    let plain = |part: Component<'_>| matches!(part, Component::Normal(_));
    match below.components().next().is_some() && below.components().all(plain) {
        true => Ok(()),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{} is not a path below", below.display()))),
    }
}
