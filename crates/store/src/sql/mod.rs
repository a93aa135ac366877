//! The model's own SQL tables in the session's file: `todos`, `todo_deps` and any tables it creates.
//!
//! Every call is one transaction on its own connection (`call`). The `authorizer` decides for each statement what the
//! model may access; `guard` limits time and memory; a page limit bounds the growth of the file. The runtime's tables
//! are not accessible.

mod authorizer;
mod call;
mod guard;
mod like;
mod linear;
mod render;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use protocol::{Clip, TaskId, TodoId, TodoStatus};
use rusqlite::Connection;
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;

use crate::error::sqlite_error;
use crate::schema::SESSION;
use crate::todos::ChangeNumbers;
use crate::{StoreError, connect};
use call::{SqlCall, SqlSession};
use guard::SqlGuard;
use like::CurrentGuard;

/// Limits of the model's SQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SqlLimits {
    /// The maximum duration of a call.
    pub deadline: Duration,
    /// Maximum number of rows shown.
    pub rows: usize,
    /// Maximum bytes of text shown.
    pub output: usize,
    /// Maximum bytes by which the file may grow while the connection is open.
    pub growth: u64,
    /// Maximum bytes of memory for intermediate results.
    pub memory: u64,
}

impl Default for SqlLimits {
    fn default() -> SqlLimits {
        SqlLimits {
            deadline: Duration::from_secs(5),
            rows: 500,
            output: 32 * 1024,
            growth: 64 * 1024 * 1024,
            memory: 256 * 1024 * 1024,
        }
    }
}

/// The results of one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqlOutput {
    /// The results as text for the model.
    pub text: Clip,
    /// How many rows were inserted, updated or deleted.
    pub changed: u64,
    /// The todos that were added or changed, with their new status.
    pub todos: Vec<(TodoId, TodoStatus)>,
}

/// Why a call had no effect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SqlError {
    /// The SQL is invalid, not allowed or too expensive; the text tells the model why.
    #[error("{0}")]
    Refused(String),
    /// The caller cancelled it.
    #[error("the call was cancelled and changed nothing")]
    Cancelled,
    /// The file failed.
    #[error(transparent)]
    Broken(#[from] StoreError),
}

/// The connection that the model's SQL runs on, one call at a time.
#[derive(Debug)]
pub struct SqlConnection {
    path: PathBuf,
    limits: SqlLimits,
    session: Mutex<SqlSession>,
    /// The guard of the current call, for long-running functions.
    current: CurrentGuard,
    on_signed: SignedChangeHook,
}

/// A callback with the numbers of the todo changes that a call has signed, called before they become visible.
#[derive(Clone, Default)]
struct SignedChangeHook(Option<Arc<dyn Fn(ChangeNumbers) + Send + Sync>>);

impl fmt::Debug for SignedChangeHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SignedChangeHook")
    }
}

impl SqlConnection {
    /// Opens a connection to a session's file.
    pub fn open(path: &Path, limits: SqlLimits) -> Result<SqlConnection, StoreError> {
        let conn = connect::open_writable(path)?;
        SESSION.require(&conn, path)?;
        let current = CurrentGuard::default();
        confine(&conn, limits, &current).map_err(sqlite_error(path))?;
        Ok(SqlConnection {
            path: path.into(),
            limits,
            session: Mutex::new(SqlSession { conn, added_pages: 0 }),
            current,
            on_signed: SignedChangeHook::default(),
        })
    }

    /// Sets a callback with the numbers of the todo changes that a call has signed, called before they become visible.
    #[must_use]
    pub fn on_signed_changes(self, vouch: impl Fn(ChangeNumbers) + Send + Sync + 'static) -> SqlConnection {
        SqlConnection { on_signed: SignedChangeHook(Some(Arc::new(vouch))), ..self }
    }

    /// Runs one or more statements as one transaction. It blocks, and calls `cancel` repeatedly.
    pub fn run(&self, sql: &str, cancel: impl Fn() -> bool + Send + 'static) -> Result<SqlOutput, SqlError> {
        self.run_for(None, sql, cancel)
    }

    /// Like [`SqlConnection::run`], for an agent, which is recorded as the author of changed todos.
    pub fn run_by(
        &self,
        author: TaskId,
        sql: &str,
        cancel: impl Fn() -> bool + Send + 'static,
    ) -> Result<SqlOutput, SqlError> {
        self.run_for(Some(author), sql, cancel)
    }

    fn run_for(
        &self,
        author: Option<TaskId>,
        sql: &str,
        cancel: impl Fn() -> bool + Send + 'static,
    ) -> Result<SqlOutput, SqlError> {
        if sql.contains('\0') {
            return Err(SqlError::Refused("the SQL contains a NUL character; leave it out".into()));
        }
        if sql.len() > TEXT {
            return Err(SqlError::Refused(format!("the SQL is longer than {TEXT} bytes; send it in parts")));
        }
        // A call that panicked left at most an open transaction, which the next call ends.
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        let guard = SqlGuard::new(self.limits, cancel);
        self.current.set(&guard);
        SqlCall {
            session: &mut session,
            limits: self.limits,
            path: &self.path,
            guard,
            author,
            on_signed: &self.on_signed,
        }
        .run(sql)
    }
}

/// Maximum bytes of SQL in one call.
const TEXT: usize = 100_000;

/// Applies the settings and limits of every call.
fn confine(conn: &Connection, limits: SqlLimits, current: &CurrentGuard) -> rusqlite::Result<()> {
    conn.busy_timeout(limits.deadline)?;
    conn.set_prepared_statement_cache_capacity(0);
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, true)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, true)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, false)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DDL, false)?;
    // With this, a row that REPLACE removes is recorded like any other deleted row.
    conn.pragma_update(None, "recursive_triggers", true)?;
    // Intermediate results stay in memory, where the guard sees them grow.
    conn.pragma_update(None, "temp_store", "MEMORY")?;
    // Temporary tables last as long as the connection.
    conn.pragma_update(Some("temp"), "max_page_count", limits.growth / call::PAGE_BYTES)?;
    for (limit, value) in SQLITE_LIMITS {
        conn.set_limit(*limit, *value)?;
    }
    like::replace_unstoppable(conn, current)?;
    linear::replace_quadratic(conn)
}

const SQLITE_LIMITS: &[(Limit, i32)] = &[
    (Limit::SQLITE_LIMIT_LENGTH, 1024 * 1024),
    (Limit::SQLITE_LIMIT_SQL_LENGTH, 100_000),
    (Limit::SQLITE_LIMIT_COLUMN, 200),
    (Limit::SQLITE_LIMIT_EXPR_DEPTH, 100),
    (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 50),
    // No progress is reported between the columns of one row, so this bounds the time of one row to less than the
    // writer's timeout, whatever functions its columns call.
    (Limit::SQLITE_LIMIT_VDBE_OP, 10_000),
    (Limit::SQLITE_LIMIT_FUNCTION_ARG, 50),
    (Limit::SQLITE_LIMIT_ATTACHED, 0),
    (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 200),
    (Limit::SQLITE_LIMIT_VARIABLE_NUMBER, 0),
    (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 10),
    (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
];
