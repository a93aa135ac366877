//! Lists folders.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{AtFlags, Dir, FileType, statat};

/// An open folder, listed entry by entry in the file system's order. The list is of the same folder even if another one
/// gets its path meanwhile.
#[derive(Debug)]
pub struct OpenFolder {
    folder: OwnedFd,
    entries: Dir,
}

/// An entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderEntry {
    /// The name.
    pub name: OsString,
    /// Its kind.
    pub kind: EntryKind,
}

/// The kind of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link, wherever it leads.
    Link,
    /// Anything else, such as a pipe or a device.
    Other,
}

impl OpenFolder {
    pub(super) fn open(folder: rustix::io::Result<OwnedFd>) -> rustix::io::Result<OpenFolder> {
        let folder = folder?;
        Ok(OpenFolder { entries: Dir::read_from(&folder)?, folder })
    }

    /// The kind of an entry. Some file systems do not report it when a folder is listed; then it is looked up.
    fn kind(&self, name: &OsStr, reported: FileType) -> EntryKind {
        let look_up =
            || statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW).map(|s| FileType::from_raw_mode(s.st_mode));
        let kind = if reported == FileType::Unknown { look_up().unwrap_or(reported) } else { reported };
        match kind {
            FileType::RegularFile => EntryKind::File,
            FileType::Directory => EntryKind::Folder,
            FileType::Symlink => EntryKind::Link,
            FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => EntryKind::Other,
        }
    }
}

impl Iterator for OpenFolder {
    type Item = std::io::Result<FolderEntry>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let entry = match self.entries.read()? {
                Ok(entry) => entry,
                Err(errno) => return Some(Err(errno.into())),
            };
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name != "." && name != ".." {
                let kind = self.kind(name, entry.file_type());
                return Some(Ok(FolderEntry { name: name.to_owned(), kind }));
            }
        }
    }
}
