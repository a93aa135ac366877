//! Storage: one SQLite file per session, and one shared file with the index of sessions, the buckets and the trusted
//! projects.
//!
//! No other crate uses SQLite. A session's file has one writer, the process that holds its lease: every transaction
//! checks the fence, and writes an event together with its projections or not at all. Readers never block the writer;
//! the model's SQL runs behind an authorizer on its own connection.

#![deny(missing_docs)]

mod asks;
mod backup;
mod buckets;
mod commands;
mod connect;
mod error;
mod event;
mod file_header;
pub mod file_history;
mod fleet_results;
mod index;
mod index_rebuild;
mod lease;
mod listing;
mod lists;
mod local_time;
mod log_digest;
mod mail;
pub mod plan;
mod project;
mod reader;
mod reconcile;
mod salvage;
mod schema;
mod session;
mod sql;
mod summary;
mod task_records;
mod tasks;
mod todos;
mod trust;
mod turn_rows;
mod writer;

pub use buckets::BucketStore;
pub use commands::{post_command, refuse_unverified};
pub use error::StoreError;
pub use file_header::{HeaderStatus, inspect_header, sqlite_version};
pub use fleet_results::{FleetResultRow, FleetResultStore};
pub use index::{SessionIndex, SessionMatch, SessionRow};
pub use index_rebuild::{IndexRebuild, take_index_rebuilds};
pub use listing::{SessionPage, SessionQuery, SpendingReport};
pub use lists::{
    ChangedItems, ExpectedVersion, ItemChange, ItemImportReport, ItemList, ItemQuery, ListError, NewItem, from_jsonl,
    to_jsonl,
};
pub use local_time::local_time;
pub use reader::SessionReader;
pub use salvage::{SalvagedLog, last_committed, salvage};
pub use session::{OwnedSession, SessionFile, accept_log, copy_session, fork_session, remove_session};
pub use sql::{SqlConnection, SqlError, SqlLimits, SqlOutput};
pub use todos::{ChangeNumbers, TodoAuthor, TodoChanges, TodoError, TodoRow, edit_own_todos, edit_todos};
pub use trust::{TrustRow, TrustStore};
pub use turn_rows::TaskSpending;
pub use writer::{CommitReceipt, NoWriterProbe, SessionWriter, WriteBatch, WriterPoint, WriterProbe};
