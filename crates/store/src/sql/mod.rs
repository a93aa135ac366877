//! The model's own SQL space: `todos`, `todo_deps` and whatever tables it makes, in the session's file.
//!
//! Every call is one transaction on a connection of its own (`call`). What the model may touch is decided statement by
//! statement by the authorizer in `permit`; how much time and memory it may take by `guard`; what it may add to the
//! file by a page limit. The runtime's tables are out of its reach.

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

use crate::error::fault;
use crate::schema::SESSION;
use crate::todos::ChangeNumbers;
use crate::{StoreError, connect};
use call::{SqlCall, SqlSession};
use guard::SqlGuard;
use like::CurrentGuard;

/// What one call may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SqlLimits {
    /// Most time.
    pub deadline: Duration,
    /// Most rows shown.
    pub rows: usize,
    /// Most bytes of text shown.
    pub output: usize,
    /// Most bytes the file may grow by while the space is open.
    pub growth: u64,
    /// Most bytes of memory for intermediate results.
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

/// What the statements of one call gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqlOutput {
    /// The results as the model reads them.
    pub text: Clip,
    /// How many rows were inserted, updated or deleted.
    pub changed: u64,
    /// The todos that were made or changed, each with the status it has since.
    pub todos: Vec<(TodoId, TodoStatus)>,
}

/// Why a call had no effect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SqlError {
    /// The SQL is wrong, not allowed or too costly; the text tells the model which.
    #[error("{0}")]
    Refused(String),
    /// The caller gave up on it.
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
    /// The guard of the call under way, for functions that take long.
    current: CurrentGuard,
    on_signed: SignedChangeHook,
}

/// Who is told the numbers of the todo changes that a call has signed, before anybody can see them.
#[derive(Clone, Default)]
struct SignedChangeHook(Option<Arc<dyn Fn(ChangeNumbers) + Send + Sync>>);

impl fmt::Debug for SignedChangeHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SignedChangeHook")
    }
}

impl SqlConnection {
    /// Opens the space in a session's file.
    pub fn open(path: &Path, limits: SqlLimits) -> Result<SqlConnection, StoreError> {
        let conn = connect::writable(path)?;
        SESSION.require(&conn, path)?;
        let current = CurrentGuard::default();
        confine(&conn, limits, &current).map_err(fault(path))?;
        let vouch = SignedChangeHook::default();
        Ok(SqlConnection {
            path: path.into(),
            limits,
            session: Mutex::new(SqlSession { conn, grown: 0 }),
            current,
            on_signed: vouch,
        })
    }

    /// The same, which tells the numbers of the todo changes that it has signed before anybody can see them.
    #[must_use]
    pub fn on_signed_changes(self, vouch: impl Fn(ChangeNumbers) + Send + Sync + 'static) -> SqlConnection {
        SqlConnection { on_signed: SignedChangeHook(Some(Arc::new(vouch))), ..self }
    }

    /// Runs one or more statements as one transaction. It blocks; `cancel` is asked again and again meanwhile.
    pub fn run(&self, sql: &str, cancel: impl Fn() -> bool + Send + 'static) -> Result<SqlOutput, SqlError> {
        self.run_for(None, sql, cancel)
    }

    /// The same for an agent, which is noted as the author of the todos that they change.
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
        // A call that panicked left nothing behind but an open transaction, which the next one ends.
        let mut context = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        let guard = SqlGuard::new(self.limits, cancel);
        self.current.set(&guard);
        SqlCall {
            session: &mut context,
            limits: self.limits,
            path: &self.path,
            guard,
            author,
            on_signed: &self.on_signed,
        }
        .run(sql)
    }
}

/// Most bytes of SQL in one call.
const TEXT: usize = 100_000;

/// Sets what holds for every call.
fn confine(conn: &Connection, limits: SqlLimits, current: &CurrentGuard) -> rusqlite::Result<()> {
    conn.busy_timeout(limits.deadline)?;
    conn.set_prepared_statement_cache_capacity(0);
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, true)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, true)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, false)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DDL, false)?;
    // A row that REPLACE removes is noted like any other that is gone.
    conn.pragma_update(None, "recursive_triggers", true)?;
    // Intermediate results stay in memory, where the guard sees them grow.
    conn.pragma_update(None, "temp_store", "MEMORY")?;
    // Temporary tables last as long as the space does.
    conn.pragma_update(Some("temp"), "max_page_count", limits.growth / call::PAGE)?;
    for (limit, value) in LIMITS {
        conn.set_limit(*limit, *value)?;
    }
    like::replace_unstoppable(conn, current)?;
    linear::replace_quadratic(conn)
}

const LIMITS: &[(Limit, i32)] = &[
    (Limit::SQLITE_LIMIT_LENGTH, 1024 * 1024),
    (Limit::SQLITE_LIMIT_SQL_LENGTH, 100_000),
    (Limit::SQLITE_LIMIT_COLUMN, 200),
    (Limit::SQLITE_LIMIT_EXPR_DEPTH, 100),
    (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 50),
    // Between the columns of one row no progress is reported, so this bounds what one row may take: less than the
    // writer's patience, whatever the columns call.
    (Limit::SQLITE_LIMIT_VDBE_OP, 10_000),
    (Limit::SQLITE_LIMIT_FUNCTION_ARG, 50),
    (Limit::SQLITE_LIMIT_ATTACHED, 0),
    (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 200),
    (Limit::SQLITE_LIMIT_VARIABLE_NUMBER, 0),
    (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 10),
    (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
];
