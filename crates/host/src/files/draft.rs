//! Files that are written under a temporary name and then renamed to their final name atomically.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;

use rustix::fs::{
    AtFlags, Gid, Mode, OFlags, RenameFlags, Uid, fchmod, fchown, fsync, renameat, renameat_with, unlinkat,
};
use rustix::io::Errno;
use uuid::Uuid;

use super::root::open_beneath;

/// A file under its temporary name. Dropping it removes the file, unless it was published.
#[derive(Debug)]
pub(super) struct FileDraft<'a> {
    folder: &'a OwnedFd,
    name: String,
    file: File,
}

/// The permission bits of a mode. The rest, such as set-user-id, is never passed on.
pub(super) const PERMISSION_BITS: u32 = 0o777;
/// The mode of a file that gets another one before it is published.
const PRIVATE_MODE: u32 = 0o600;

impl<'a> FileDraft<'a> {
    /// Creates an empty file, with the permissions that the user's umask allows.
    pub(super) fn create(folder: &'a OwnedFd) -> io::Result<FileDraft<'a>> {
        FileDraft::open(folder, 0o666)
    }

    /// Creates an empty file beside the one it will replace, with the same permissions.
    pub(super) fn for_replacing(folder: &'a OwnedFd, replaced: &Metadata) -> io::Result<FileDraft<'a>> {
        let draft = FileDraft::open(folder, PRIVATE_MODE)?;
        draft.copy_owner_and_mode(replaced)?;
        Ok(draft)
    }

    /// Creates an empty file with this mode, if its file system supports modes.
    pub(super) fn with_mode(folder: &'a OwnedFd, mode: u32) -> io::Result<FileDraft<'a>> {
        let draft = FileDraft::open(folder, PRIVATE_MODE)?;
        // If this fails, the file stays private, or its file system gives all files the same mode.
        let _ = fchmod(&draft.file, Mode::from_raw_mode(mode & PERMISSION_BITS));
        Ok(draft)
    }

    fn open(folder: &'a OwnedFd, mode: u32) -> io::Result<FileDraft<'a>> {
        let name = format!(".bosun-{}.tmp", Uuid::now_v7().simple());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        let file = File::from(open_beneath(folder, OsStr::new(&name), flags, Mode::from_raw_mode(mode))?);
        Ok(FileDraft { folder, name, file })
    }

    /// Writes the content and syncs it to the disk.
    pub(super) fn with_content(mut self, bytes: &[u8]) -> io::Result<FileDraft<'a>> {
        self.file.write_all(bytes)?;
        self.file.sync_all()?;
        Ok(self)
    }

    /// Renames the draft to `name`, replacing an existing file.
    pub(super) fn publish(&self, name: &OsStr) -> io::Result<Metadata> {
        renameat(self.folder, &self.name, self.folder, name)?;
        self.sync_folder()
    }

    /// Renames the draft to `name`; fails with `AlreadyExists` if the name is taken.
    pub(super) fn publish_new(&self, name: &OsStr) -> io::Result<Metadata> {
        match renameat_with(self.folder, &self.name, self.folder, name, RenameFlags::NOREPLACE) {
            Ok(()) => self.sync_folder(),
            // The file system cannot rename without replacing; the caller has just checked that the name is free.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => self.publish(name),
            Err(errno) => Err(errno.into()),
        }
    }

    fn sync_folder(&self) -> io::Result<Metadata> {
        // The file is complete and in place; a failed sync of the folder does not change that.
        let _ = fsync(self.folder);
        self.file.metadata()
    }

    fn copy_owner_and_mode(&self, replaced: &Metadata) -> io::Result<()> {
        let own = self.file.metadata()?;
        if (own.uid(), own.gid()) != (replaced.uid(), replaced.gid()) {
            // Only some users may give files away; otherwise the new file belongs to this user.
            let _ = fchown(&self.file, Some(Uid::from_raw(replaced.uid())), Some(Gid::from_raw(replaced.gid())));
        }
        Ok(fchmod(&self.file, Mode::from_raw_mode(replaced.mode() & PERMISSION_BITS))?)
    }
}

impl Drop for FileDraft<'_> {
    fn drop(&mut self) {
        // A published draft no longer has this name, and no other file can have it.
        let _ = unlinkat(self.folder, &self.name, AtFlags::empty());
    }
}
