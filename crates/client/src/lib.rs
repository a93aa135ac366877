//! Clients of sessions. A session has the same methods whether a process runs it or not: what its file says is read
//! from the file; a command goes to the process that runs the session, or waits in the file for the next one.
//!
//! Every edge (the command line, HTTP, the SDK adapters, the SDK crate) uses this crate instead of opening files or
//! sockets of sessions itself.

#![deny(missing_docs)]

mod answers;
mod delivery;
mod error;
mod events;
pub mod fleet_results;
mod handle;
mod host_client;
pub mod lists;
mod log;
mod markdown;
mod output;
pub mod sessions;
mod stored;
pub mod trust;

pub use delivery::EditedTodos;
pub use error::ClientError;
pub use events::{EventStream, FollowOptions, SessionMessage};
pub use handle::SessionHandle;
pub use host_client::HostClient;
pub use log::{LogDamage, SessionLog};
pub use markdown::session_markdown;
pub use output::{command_output, task_output};
pub use store::plan::read as read_plan;
pub use store::{
    ChangedItems, ExpectedVersion, HeaderStatus, IndexRebuild, ItemChange, ItemImportReport, ItemList, ItemQuery,
    ListError, NewItem, SessionPage, SessionQuery, SessionRow, SpendingReport, StoreError, TaskSpending, TodoError,
    TodoRow, TrustRow, from_jsonl, inspect_header, local_time, sqlite_version, take_index_rebuilds, to_jsonl,
};
pub use stored::StoredSession;
