//! A path in a workspace: reading what is there, and writing it.

use std::ffi::OsStr;
use std::fs::{File, FileType, Metadata};
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{Access, AtFlags, Mode, OFlags, accessat, unlinkat};
use rustix::io::Errno;

use super::draft::{FileDraft, PERMISSION_BITS};
use super::error::FileError;
use super::folder::OpenFolder;
use super::root::{FOLDER_FLAGS, WorkspaceRoot, open_beneath};
use super::stamp::FileStamp;

/// A path that was checked to be inside the workspace. Using it follows no links: it leads to the same place as when
/// it was checked, or the use fails.
#[derive(Debug, Clone)]
pub struct CheckedPath {
    root: Arc<WorkspaceRoot>,
    /// The path relative to the root.
    below: PathBuf,
    /// The absolute path.
    path: PathBuf,
}

/// A file's content with the stamp it had before it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileBytes {
    /// The content.
    pub bytes: Vec<u8>,
    /// The stamp to pass to [`ExpectedContent::Unchanged`].
    pub stamp: FileStamp,
    /// Its permissions, as [`CheckedPath::write_new`] takes them.
    pub mode: u32,
}

/// What a writer expects at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpectedContent {
    /// Nothing.
    New,
    /// The file that had this stamp.
    Unchanged(FileStamp),
    /// Anything or nothing.
    Any,
}

/// Flags to open a file for reading: a pipe or a terminal in its place must not block the reader.
const READ_FLAGS: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

impl CheckedPath {
    pub(super) fn new(root: Arc<WorkspaceRoot>, below: PathBuf) -> CheckedPath {
        // Joining an empty path would add a slash.
        let path = if below.as_os_str().is_empty() { root.path.clone() } else { root.path.join(&below) };
        CheckedPath { root, below, path }
    }

    /// The absolute path, without links in it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the path exists, as a file or anything else.
    pub fn exists(&self) -> bool {
        !matches!(self.root.open_below(&self.below, OFlags::PATH), Err(Errno::NOENT | Errno::NOTDIR))
    }

    /// Opens the folder to list it.
    pub fn open_folder_to_list(&self) -> Result<OpenFolder, FileError> {
        OpenFolder::open(self.root.open_below(&self.below, FOLDER_FLAGS)).map_err(|errno| self.file_error(errno))
    }

    /// Reads a file of at most `most` bytes.
    pub fn read(&self, most: u64) -> Result<FileBytes, FileError> {
        let (file, metadata) = self.open_regular(READ_FLAGS)?;
        let too_large = |size| FileError::TooLarge { path: self.path.clone(), size, most };
        if metadata.len() > most {
            return Err(too_large(metadata.len()));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or_default());
        // It may grow while it is read, and some files do not report their size.
        file.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(|error| self.file_error(error))?;
        let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        if size > most {
            Err(too_large(size))
        } else {
            Ok(FileBytes { bytes, stamp: FileStamp::of(&metadata), mode: metadata.mode() & PERMISSION_BITS })
        }
    }

    /// Opens a file to read it in parts; returns its metadata too.
    pub fn open(&self) -> Result<(File, Metadata), FileError> {
        self.open_regular(READ_FLAGS)
    }

    /// The stamp of the file.
    pub fn stamp(&self) -> Result<FileStamp, FileError> {
        self.open_regular(OFlags::PATH).map(|(_, metadata)| FileStamp::of(&metadata))
    }

    /// Writes a file atomically: readers see the old one or the new one. An existing file's mode and owner are kept as
    /// far as this user may set them. Between the last check and the replacement there is a moment in which another
    /// writer's change can be overwritten.
    pub fn write(&self, bytes: &[u8], expect: ExpectedContent) -> Result<FileStamp, FileError> {
        let (folder, name) = self.open_parent()?;
        let existing = self.check_expected(&folder, name, expect)?;
        let draft = existing
            .map_or_else(|| FileDraft::create(&folder), |existing| FileDraft::for_replacing(&folder, &existing));
        let draft = draft.and_then(|draft| draft.with_content(bytes)).map_err(|error| self.file_error(error))?;
        self.check_expected(&folder, name, expect)?;
        let published = match expect {
            ExpectedContent::New => draft.publish_new(name),
            ExpectedContent::Unchanged(_) | ExpectedContent::Any => draft.publish(name),
        };
        published.map(|metadata| FileStamp::of(&metadata)).map_err(|error| self.file_error(error))
    }

    /// Writes a new file atomically with this mode; it is never visible with another mode.
    pub fn write_new(&self, bytes: &[u8], mode: u32) -> Result<FileStamp, FileError> {
        let (folder, name) = self.open_parent()?;
        self.check_expected(&folder, name, ExpectedContent::New)?;
        let draft = FileDraft::with_mode(&folder, mode).and_then(|draft| draft.with_content(bytes));
        let published = draft.and_then(|draft| draft.publish_new(name));
        published.map(|metadata| FileStamp::of(&metadata)).map_err(|error| self.file_error(error))
    }

    /// Removes the file.
    pub fn remove(&self, expect: ExpectedContent) -> Result<(), FileError> {
        let (folder, name) = self.open_parent()?;
        if self.check_expected(&folder, name, expect)?.is_none() {
            return Err(FileError::Missing(self.path.clone()));
        }
        unlinkat(&folder, name, AtFlags::empty()).map_err(|errno| self.file_error(errno))
    }

    pub(super) fn create_parents(&self) -> Result<(), FileError> {
        let parent = self.below.parent().unwrap_or(Path::new(""));
        self.root.make_folders(parent).map_err(|errno| self.file_error(errno))
    }

    /// Opens the path if it is a regular file.
    fn open_regular(&self, flags: OFlags) -> Result<(File, Metadata), FileError> {
        let file = File::from(self.root.open_below(&self.below, flags).map_err(|errno| self.file_error(errno))?);
        let metadata = self.require_regular(&file)?;
        Ok((file, metadata))
    }

    /// Opens the parent folder.
    fn open_parent(&self) -> Result<(OwnedFd, &OsStr), FileError> {
        let (Some(parent), Some(name)) = (self.below.parent(), self.below.file_name()) else {
            return Err(FileError::Directory(self.path.clone()));
        };
        match self.root.open_below(parent, FOLDER_FLAGS) {
            Ok(folder) => Ok((folder, name)),
            Err(Errno::NOENT) => Err(FileError::FolderMissing(self.path.clone())),
            Err(errno) => Err(self.file_error(errno)),
        }
    }

    /// Fails if the path does not contain what is expected, or contains something that may not be replaced. Returns the
    /// metadata of the existing file, if there is one.
    fn check_expected(
        &self,
        folder: &OwnedFd,
        name: &OsStr,
        expect: ExpectedContent,
    ) -> Result<Option<Metadata>, FileError> {
        let existing = match open_beneath(folder, name, OFlags::PATH, Mode::empty()) {
            Ok(file) => Some(self.require_regular(&File::from(file))?),
            Err(Errno::NOENT) => None,
            Err(errno) => return Err(self.file_error(errno)),
        };
        match (&existing, expect) {
            (Some(_), ExpectedContent::New) => return Err(FileError::Exists(self.path.clone())),
            (Some(found), ExpectedContent::Unchanged(stamp)) if FileStamp::of(found) != stamp => {
                return Err(FileError::Changed(self.path.clone()));
            }
            (None, ExpectedContent::Unchanged(_)) => return Err(FileError::Changed(self.path.clone())),
            (None, ExpectedContent::New | ExpectedContent::Any)
            | (Some(_), ExpectedContent::Unchanged(_) | ExpectedContent::Any) => {}
        }
        if existing.is_some() {
            // Replacing a file needs no permission for it, but a write-protected file must not be replaced.
            accessat(folder, name, Access::WRITE_OK, AtFlags::EACCESS).map_err(|errno| self.file_error(errno))?;
        }
        Ok(existing)
    }

    fn require_regular(&self, file: &File) -> Result<Metadata, FileError> {
        let metadata = file.metadata().map_err(|error| self.file_error(error))?;
        if metadata.is_dir() {
            return Err(FileError::Directory(self.path.clone()));
        }
        // Even without following links, a link itself can be opened as a path.
        if metadata.is_symlink() {
            return Err(FileError::Replaced(self.path.clone()));
        }
        match special_kind(metadata.file_type()) {
            Some(kind) => Err(FileError::Special { path: self.path.clone(), kind }),
            None => Ok(metadata),
        }
    }

    fn file_error(&self, source: impl Into<std::io::Error>) -> FileError {
        FileError::from(&self.path, source)
    }
}

fn special_kind(kind: FileType) -> Option<&'static str> {
    [
        (kind.is_fifo(), "named pipe"),
        (kind.is_socket(), "socket"),
        (kind.is_char_device() || kind.is_block_device(), "device"),
    ]
    .into_iter()
    .find_map(|(is, name)| is.then_some(name))
}
