//! What is in a folder.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{AtFlags, Dir, FileType, statat};

/// An open folder, entry by entry in the file system's own order. What its name leads to meanwhile does not matter.
#[derive(Debug)]
pub struct OpenFolder {
    folder: OwnedFd,
    entries: Dir,
}

/// One name in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderEntry {
    /// The name.
    pub name: OsString,
    /// What goes by it.
    pub kind: EntryKind,
}

/// What goes by a name.
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

    /// Not every file system tells kinds along with names.
    fn kind(&self, name: &OsStr, told: FileType) -> EntryKind {
        let looked =
            || statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW).map(|s| FileType::from_raw_mode(s.st_mode));
        let kind = if told == FileType::Unknown { looked().unwrap_or(told) } else { told };
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
