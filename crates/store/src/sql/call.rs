//! One SQL call: its statements take effect together or not at all.

use std::path::Path;

use protocol::{TaskId, TodoId, TodoStatus};
use rusqlite::fallible_iterator::FallibleIterator;
use rusqlite::hooks::{AuthContext, Authorization};
use rusqlite::{Batch, Connection, Error, ErrorCode, ffi};

use super::authorizer::{self, StatementNotes};
use super::guard::{self, SqlGuard, StopCause};
use super::render::ResultText;
use super::{SignedChangeHook, SqlError, SqlLimits, SqlOutput};
use crate::error::sqlite_error;
use crate::{StoreError, connect, todos};

/// The state that is kept between calls.
#[derive(Debug)]
pub(super) struct SqlSession {
    pub(super) conn: Connection,
    /// How many pages the calls so far have added to the file.
    pub(super) added_pages: u64,
}

pub(super) struct SqlCall<'a> {
    pub(super) session: &'a mut SqlSession,
    pub(super) limits: SqlLimits,
    pub(super) path: &'a Path,
    pub(super) guard: SqlGuard,
    /// The agent whose call it is.
    pub(super) author: Option<TaskId>,
    /// Called with the numbers of the todo changes that the call has signed.
    pub(super) on_signed: &'a SignedChangeHook,
}

impl SqlCall<'_> {
    pub(super) fn run(&mut self, sql: &str) -> Result<SqlOutput, SqlError> {
        self.roll_back_open()?;
        if self.only_reads(sql)? {
            return self.perform(sql);
        }
        let start = self.begin()?;
        let output =
            self.perform(sql).and_then(|output| self.finish(&start).map(|todos| SqlOutput { todos, ..output }));
        if output.is_err() {
            self.roll_back_open()?;
        }
        output
    }

    /// Whether the SQL is one statement that changes nothing, so that it needs no lock.
    fn only_reads(&mut self, sql: &str) -> Result<bool, SqlError> {
        self.with_authorizer(|conn, _notes| {
            let mut batch = Batch::new(conn, sql);
            let first = batch.next();
            let is_readonly = first.is_ok_and(|first| first.is_none_or(|statement| statement.readonly()));
            is_readonly && matches!(batch.next(), Ok(None))
        })
    }

    fn begin(&mut self) -> Result<TransactionStart, SqlError> {
        let SqlSession { conn, added_pages: grown } = &*self.session;
        let pages_left = (self.limits.growth / PAGE_BYTES).saturating_sub(*grown);
        let begin = || -> rusqlite::Result<TransactionStart> {
            conn.execute_batch("BEGIN IMMEDIATE")?;
            let start = TransactionStart {
                pages: page_count(conn)?,
                schema_versions: schema_versions(conn)?,
                guarded_schema: guarded_schema(conn)?,
                last_change: todos::last_pending(conn)?,
            };
            conn.pragma_update(None, "max_page_count", start.pages + pages_left)?;
            Ok(start)
        };
        begin().map_err(|error| self.store_error(error))
    }

    /// Runs the statements. Either a transaction is open, or the only statement needs none.
    fn perform(&mut self, sql: &str) -> Result<SqlOutput, SqlError> {
        let mut result_text = ResultText::new(self.limits.rows, self.limits.output);
        let guard = self.guard.clone();
        let result = self.with_authorizer(|conn, notes| {
            let mut changed = 0;
            let mut batch = Batch::new(conn, sql);
            for number in 1.. {
                notes.reset();
                match run_next_statement(conn, &mut batch, &mut result_text, notes, &guard) {
                    Ok(Some(rows)) => changed += rows,
                    Ok(None) => break,
                    Err(error) => return Err((number, error, notes.refusal())),
                }
            }
            Ok(changed)
        })?;
        let changed = result.map_err(|(number, error, refusal)| self.explain_failure(number, error, refusal))?;
        Ok(SqlOutput { text: result_text.into_clip(), changed, todos: Vec::new() })
    }

    /// Commits the call's changes, if they are allowed; returns the changed todos.
    fn finish(&mut self, start: &TransactionStart) -> Result<Vec<(TodoId, TodoStatus)>, SqlError> {
        let conn = &self.session.conn;
        if schema_versions(conn).map_err(|error| self.store_error(error))? != start.schema_versions {
            self.check_schema(start)?;
        }
        self.check_author(start)?;
        let todos = todos::sign(conn, start.last_change, self.author).map_err(|error| self.store_error(error))?;
        let todos = todos.map_err(|reason| SqlError::Refused(format!("{reason}; the call changed nothing")))?;
        if let SignedChangeHook(Some(vouch)) = self.on_signed {
            vouch(start.last_change + 1..=todos::last_pending(conn).map_err(|error| self.store_error(error))?);
        }
        let grown = page_count(conn).map_err(|error| self.store_error(error))?.saturating_sub(start.pages);
        conn.execute_batch("COMMIT").map_err(|error| match error.sqlite_error_code() {
            Some(ErrorCode::ConstraintViolation) => SqlError::Refused(format!("at the end of the call: {error}")),
            _ => self.store_error(error),
        })?;
        self.session.added_pages += grown;
        Ok(todos)
    }

    /// Refuses changes of todos that the author may not make.
    fn check_author(&self, start: &TransactionStart) -> Result<(), SqlError> {
        // A separate connection sees the rows as they were before this transaction.
        let mut open_error = None;
        let open = || {
            connect::open_readable(self.path).map_err(|error| {
                open_error = Some(error);
                Error::InvalidQuery
            })
        };
        let violation = todos::find_violation(&self.session.conn, open, start.last_change, self.author);
        match (violation, open_error) {
            (Ok(None), _) => Ok(()),
            (Ok(Some(why)), _) => Err(SqlError::Refused(format!("{why}; the call changed nothing"))),
            (Err(_), Some(open_error)) => Err(SqlError::Broken(open_error)),
            (Err(error), None) => Err(self.store_error(error)),
        }
    }

    fn check_schema(&self, start: &TransactionStart) -> Result<(), SqlError> {
        let conn = &self.session.conn;
        let broken = |error| self.store_error(error);
        if guarded_schema(conn).map_err(broken)? != start.guarded_schema {
            let text = format!(
                "names that begin with `{}` belong to the runtime, and `todos` and `todo_deps` must keep their schema",
                authorizer::PREFIX
            );
            return Err(SqlError::Refused(text));
        }
        if schema_size(conn).map_err(broken)? > MAX_SCHEMA_BYTES {
            return Err(SqlError::Refused("too many tables, views and indexes; drop some first".into()));
        }
        Ok(())
    }

    /// Rolls back a transaction that is still open; SQLite may have ended it already.
    fn roll_back_open(&self) -> Result<(), SqlError> {
        let conn = &self.session.conn;
        if conn.is_autocommit() {
            return Ok(());
        }
        conn.execute_batch("ROLLBACK").map_err(|error| self.store_error(error))
    }

    /// Runs work with the authorizer and the guard installed.
    fn with_authorizer<T>(&mut self, work: impl FnOnce(&Connection, &StatementNotes) -> T) -> Result<T, SqlError> {
        let broken = |error| SqlError::Broken(sqlite_error(self.path)(error));
        let notes = StatementNotes::default();
        let conn = &mut self.session.conn;
        conn.authorizer(Some(notes.authorizer())).map_err(broken)?;
        conn.progress_handler(guard::CHECK_INTERVAL_STEPS, Some(self.guard.watch())).map_err(broken)?;
        let result = work(conn, &notes);
        conn.progress_handler(0, None::<fn() -> bool>).map_err(broken)?;
        conn.authorizer(None::<fn(AuthContext<'_>) -> Authorization>).map_err(broken)?;
        Ok(result)
    }

    /// Turns a failure into a message that the model can act on.
    fn explain_failure(&self, number: usize, error: Error, refusal: Option<String>) -> SqlError {
        let refused = |why: &str| SqlError::Refused(format!("statement {number}: {why}; the call changed nothing"));
        match self.guard.tripped() {
            Some(StopCause::Cancelled) => return SqlError::Cancelled,
            Some(StopCause::Deadline) => {
                let seconds = self.limits.deadline.as_secs_f32();
                return refused(&format!("it took longer than {seconds} s and was stopped; ask for less"));
            }
            Some(StopCause::Memory) => return refused("its intermediate results are too large; ask for less"),
            None => {}
        }
        if let Some(why) = refusal {
            return refused(&why);
        }
        if error.sqlite_error_code() == Some(ErrorCode::OutOfMemory) {
            return refused("the statement is too large; split it");
        }
        let message = error_message(&error);
        match sqlite_error(self.path)(error) {
            StoreError::Full { .. } if has_space(self.path) => {
                let max_mib = self.limits.growth / (1024 * 1024);
                refused(&format!("your tables may add at most {max_mib} MiB to the file; delete rows or drop tables"))
            }
            StoreError::Unexpected { .. } => refused(&message),
            broken => SqlError::Broken(broken),
        }
    }

    fn store_error(&self, error: Error) -> SqlError {
        SqlError::Broken(sqlite_error(self.path)(error))
    }
}

/// Runs the next statement and returns how many rows it changed; none when there is no statement.
fn run_next_statement(
    conn: &Connection,
    batch: &mut Batch<'_, '_>,
    result_text: &mut ResultText,
    notes: &StatementNotes,
    guard: &SqlGuard,
) -> rusqlite::Result<Option<u64>> {
    if guard.must_stop() {
        return Err(Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_INTERRUPT), None));
    }
    let Some(mut statement) = batch.next()? else { return Ok(None) };
    if notes.is_transaction_control() {
        return Ok(Some(0));
    }
    let before = conn.total_changes();
    // Writes of triggers do not count. After a statement that changes nothing, `changes` still has the old count.
    let changed = || if conn.total_changes() == before { 0 } else { conn.changes() };
    if statement.column_count() == 0 {
        statement.raw_execute()?;
        result_text.add_changed_rows(changed());
    } else {
        result_text.add_table(&mut statement)?;
    }
    Ok(Some(changed()))
}

/// The state of the file at the start of a transaction.
struct TransactionStart {
    /// The size of the file in pages.
    pages: u64,
    schema_versions: [i64; 2],
    /// The definitions that a call must not change.
    guarded_schema: Vec<String>,
    /// The number of the last recorded todo change.
    last_change: i64,
}

/// The page size of every file created here.
pub(super) const PAGE_BYTES: u64 = 4096;

/// Maximum bytes of schema definitions in a file, since every connection reads them all.
const MAX_SCHEMA_BYTES: u64 = 512 * 1024;

fn page_count(conn: &Connection) -> rusqlite::Result<u64> {
    conn.pragma_query_value(None, "page_count", |row| row.get(0))
}

/// The schema versions of the file and of the temporary tables.
fn schema_versions(conn: &Connection) -> rusqlite::Result<[i64; 2]> {
    let version_of = |schema| conn.pragma_query_value(Some(schema), "schema_version", |row| row.get(0));
    Ok([version_of("main")?, version_of("temp")?])
}

/// The definitions that a call must not change. `ALTER TABLE … RENAME` does not tell the authorizer the new name.
fn guarded_schema(conn: &Connection) -> rusqlite::Result<Vec<String>> {
    conn.prepare(
        r"SELECT name || ' ' || tbl_name || ' ' || ifnull(sql, '')
          FROM (SELECT * FROM main.sqlite_schema UNION ALL SELECT * FROM temp.sqlite_schema)
          WHERE name LIKE 'bosun\_%' ESCAPE '\' OR tbl_name LIKE 'bosun\_%' ESCAPE '\'
             OR lower(name) IN ('todos', 'todo_deps') OR lower(tbl_name) IN ('todos', 'todo_deps')
          ORDER BY 1",
    )?
    .query_map([], |row| row.get(0))?
    .collect()
}

fn schema_size(conn: &Connection) -> rusqlite::Result<u64> {
    conn.query_row("SELECT sum(200 + ifnull(length(sql), 0)) FROM main.sqlite_schema", [], |row| row.get(0))
}

fn error_message(error: &Error) -> String {
    match error {
        Error::SqlInputError { msg, .. } => msg.clone(),
        Error::SqliteFailure(_, Some(message)) => message.clone(),
        other => other.to_string(),
    }
}

fn has_space(path: &Path) -> bool {
    const MIN_FREE_BYTES: u64 = 1024 * 1024;
    path.parent().and_then(|folder| host::machine::free_bytes(folder).ok()).is_some_and(|free| free > MIN_FREE_BYTES)
}
