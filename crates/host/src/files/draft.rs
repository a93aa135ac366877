//! A file that is being written under another name, until it takes its place in one step.

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

/// An unfinished file. Dropping it removes what was not published.
#[derive(Debug)]
pub(super) struct FileDraft<'a> {
    folder: &'a OwnedFd,
    name: String,
    file: File,
}

/// The part of a mode that says who may use a file. The rest, such as set-user-id, is never passed on.
pub(super) const MODE: u32 = 0o777;
/// The mode of a file that will get another one before it takes its place.
const CLOSED: u32 = 0o600;

impl<'a> FileDraft<'a> {
    /// Makes an empty file, open to whom the user's mask leaves it.
    pub(super) fn create(folder: &'a OwnedFd) -> io::Result<FileDraft<'a>> {
        FileDraft::open(folder, 0o666)
    }

    /// Makes an empty file beside the one it will replace, for the same readers.
    pub(super) fn replacing(folder: &'a OwnedFd, replaced: &Metadata) -> io::Result<FileDraft<'a>> {
        let draft = FileDraft::open(folder, CLOSED)?;
        draft.inherit(replaced)?;
        Ok(draft)
    }

    /// Makes an empty file with this mode, as far as its file system keeps modes.
    pub(super) fn with_mode(folder: &'a OwnedFd, mode: u32) -> io::Result<FileDraft<'a>> {
        let draft = FileDraft::open(folder, CLOSED)?;
        // Where that fails, the file is closed to others, or every file there has one mode.
        let _ = fchmod(&draft.file, Mode::from_raw_mode(mode & MODE));
        Ok(draft)
    }

    fn open(folder: &'a OwnedFd, mode: u32) -> io::Result<FileDraft<'a>> {
        let name = format!(".bosun-{}.tmp", Uuid::now_v7().simple());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        let file = File::from(open_beneath(folder, OsStr::new(&name), flags, Mode::from_raw_mode(mode))?);
        Ok(FileDraft { folder, name, file })
    }

    /// The draft with its content, down to the disk.
    pub(super) fn filled(mut self, bytes: &[u8]) -> io::Result<FileDraft<'a>> {
        self.file.write_all(bytes)?;
        self.file.sync_all()?;
        Ok(self)
    }

    /// Takes the place of whatever has that name.
    pub(super) fn publish(&self, name: &OsStr) -> io::Result<Metadata> {
        renameat(self.folder, &self.name, self.folder, name)?;
        self.published()
    }

    /// Takes a place that is free, or fails with `AlreadyExists`.
    pub(super) fn publish_new(&self, name: &OsStr) -> io::Result<Metadata> {
        match renameat_with(self.folder, &self.name, self.folder, name, RenameFlags::NOREPLACE) {
            Ok(()) => self.published(),
            // The file system cannot do it in one step; the caller has just seen that the place is free.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => self.publish(name),
            Err(errno) => Err(errno.into()),
        }
    }

    fn published(&self) -> io::Result<Metadata> {
        // The file is in its place and whole; a folder that cannot be synced takes nothing from that.
        let _ = fsync(self.folder);
        self.file.metadata()
    }

    fn inherit(&self, replaced: &Metadata) -> io::Result<()> {
        let own = self.file.metadata()?;
        if (own.uid(), own.gid()) != (replaced.uid(), replaced.gid()) {
            // Only some users may give files away; for the others the new file is theirs.
            let _ = fchown(&self.file, Some(Uid::from_raw(replaced.uid())), Some(Gid::from_raw(replaced.gid())));
        }
        Ok(fchmod(&self.file, Mode::from_raw_mode(replaced.mode() & MODE))?)
    }
}

impl Drop for FileDraft<'_> {
    fn drop(&mut self) {
        // A published draft has lost this name, and nobody else can have it.
        let _ = unlinkat(self.folder, &self.name, AtFlags::empty());
    }
}
