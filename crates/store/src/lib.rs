//! What is kept: one SQLite file per session, and one that crosses sessions with their index, the
//! buckets and the trusted projects.
//!
//! No other crate names SQLite. A session's file has one writer, the process that holds its lease: every
//! transaction checks the fence, and writes an event together with its projections or not at all. Readers
//! never block the writer; the model's own SQL runs behind an authorizer on a connection of its own.

#![deny(missing_docs)]

mod agree;
mod asks;
mod backup;
mod buckets;
mod commands;
mod connect;
mod error;
mod event;
mod index;
mod lease;
mod listing;
mod lists;
mod local;
mod look;
mod mail;
mod project;
mod reader;
mod rebuilt;
mod records;
mod results;
mod salvage;
mod schema;
mod session;
mod sql;
mod summary;
mod tally;
mod tasks;
mod todos;
mod trust;
mod turns;
mod writer;

pub use buckets::Buckets;
pub use commands::{clear_unproven, post_command};
pub use error::StoreError;
pub use index::{Found, Index, SessionRow};
pub use listing::{SessionPage, SessionsWanted, Spendings};
pub use lists::{Changed, Imported, ItemChange, ItemsWanted, List, ListError, NewItem, Seen, from_jsonl, to_jsonl};
pub use local::local;
pub use look::{Look, look, sqlite_version};
pub use reader::Reader;
pub use rebuilt::{Rebuilt, take_rebuilt};
pub use results::{ResultRow, Results};
pub use salvage::{Salvaged, last_committed, salvage};
pub use session::{Opened, SessionFile, accept_log, copy_session, fork_session, remove_session};
pub use sql::{SqlAnswer, SqlError, SqlLimits, SqlSpace};
pub use todos::{Noted, TodoAuthor, TodoChanges, TodoError, TodoRow, edit_own_todos, edit_todos};
pub use trust::{Trust, TrustRow};
pub use turns::Spending;
pub use writer::{Batch, Committed, NoProbe, Point, Probe, Writer};
