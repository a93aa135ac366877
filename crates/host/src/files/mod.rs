//! Files inside a workspace, and no others.
//!
//! A path is checked and used in two steps. [`Workspace::resolve`] follows `..` and symbolic links as they are at that
//! moment and refuses paths outside every root. The returned [`CheckedPath`] is then opened from the root's own
//! descriptor without following any link, so that a link created meanwhile is an error and never a way out.
//!
//! Bosun's own folders are created, moved and removed in the same way, only below a root.
//!
//! Everything here blocks the thread during disk access, but never waits for a pipe or a device.

mod below;
mod checked_path;
mod draft;
mod error;
mod file_changes;
mod folder;
mod root;
mod stamp;
mod workspace;

pub use below::{RemovedFiles, make_below, move_below, remove_below, swap_below};
pub use checked_path::{CheckedPath, ExpectedContent, FileBytes};
pub use error::{FileError, PathError};
pub use file_changes::{FileChange, FileChanges, FileMoment, changed_since, is_unchanged_since};
pub use folder::{EntryKind, FolderEntry, OpenFolder};
pub use stamp::FileStamp;
pub use workspace::Workspace;
