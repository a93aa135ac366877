//! Clients of sessions. A session has the same methods whether a process runs it or not: what its file says is read
//! from the file; a command goes to the process that runs the session, or waits in the file for the next one.
//!
//! Every edge (the command line, HTTP, the SDK adapters, the SDK crate) uses this crate instead of opening files or
//! sockets of sessions itself.

#![deny(missing_docs)]

mod answers;
pub mod asks;
mod delivery;
mod error;
mod events;
pub mod fleet_results;
mod fleet_status;
mod glob_index;
mod handle;
mod home_methods;
mod host_client;
mod in_process;
pub mod lists;
mod log;
mod markdown;
mod output;
mod readings;
mod resume_command;
mod run_watch;
pub mod sessions;
mod shared_files;
mod stored;
pub mod trust;
pub mod usage;

pub use delivery::EditedTodos;
pub use error::ClientError;
pub use events::{EventStream, FollowOptions, SessionMessage};
pub use fleet_status::{AskingTasks, LatestFleet};
pub use glob_index::{GLOB_CHARS, MAX_GLOB_BYTES};
pub use handle::SessionHandle;
pub use home_methods::{answer_home, call_home};
pub use host_client::{HostClient, HostClientError};
pub use in_process::{InProcessMessages, InProcessSession, NextMessage};
pub use log::{LogDamage, SessionLog};
pub use markdown::session_markdown;
pub use output::{command_output, task_output};
pub use readings::{SessionSnapshot, SessionTaskList, SessionTotals, answer_from_reader};
pub use resume_command::resume_command;
pub use run_watch::{BackgroundWork, RunDue, RunWaitLimits, RunWatch};
pub use shared_files::{SharedFiles, TodoFiles};
pub use store::file_history::{CollectRun, FileHistory};
pub use store::plan::read as read_plan;
pub use store::{
    HeaderStatus, IndexRebuild, ListError, SessionPage, SessionQuery, SessionRow, StoreError, TaskSpending, TodoError,
    TodoRow, TrustRow, inspect_header, local_time, sqlite_version, take_index_rebuilds,
};

use stored::StoredSession;
