//! The machine: its clock, its processes, its files and Bosun's own folder.
//!
//! This is the only crate that starts processes, and everything it starts has a guardian: when this process dies,
//! however it dies, none of its processes survives.

#![deny(missing_docs)]
#![forbid(unsafe_code)]

pub mod clock;
pub mod files;
pub mod guardian;
pub mod home;
pub mod ids;
pub mod limits;
mod lineage;
pub mod machine;
pub mod memory;
mod output;
mod plain;
mod proc;
pub mod sibling;
pub mod terminal;

pub use clock::{Clock, SystemClock};
pub use files::{
    CheckedPath, EntryKind, ExpectedContent, FileBytes, FileChange, FileChanges, FileError, FileMoment, FileStamp,
    FolderEntry, OpenFolder, PathError, RemovedFiles, Workspace, changed_since, is_unchanged_since, make_below,
    move_below, remove_below, swap_below,
};
pub use guardian::{
    ExitGrace, ExitStatus, Guardian, Job, KillMode, Leftovers, Process, ProcessInput, ProcessOutput, Program,
    ProgramExit, SpawnError, Stderr, Stdin, Survivors, WaitError, guardian_main,
};
pub use home::{FileLock, Home, HomeError, IdleSession};
pub use ids::{Ids, TimeIds};
pub use lineage::Lineage;
pub use machine::ProcessIdentity;
pub use output::{Capture, Spool};
pub use plain::{
    PlainError, check_readable, is_removed, open_plain, read_below, read_owned_below, read_plain, read_without_links,
    user_id,
};
pub use terminal::{RawTerminal, TerminalSize};
