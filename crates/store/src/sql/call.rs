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
    /// Pages that the calls so far have added to the file.
    pub(super) grown: u64,
}

pub(super) struct SqlCall<'a> {
    pub(super) session: &'a mut SqlSession,
    pub(super) limits: SqlLimits,
    pub(super) path: &'a Path,
    pub(super) guard: SqlGuard,
    /// The agent whose call it is.
    pub(super) author: Option<TaskId>,
    pub(super) on_signed: &'a SignedChangeHook,
}

impl SqlCall<'_> {
    pub(super) fn run(&mut self, sql: &str) -> Result<SqlOutput, SqlError> {
        self.end_leftover()?;
        if self.only_reads(sql)? {
            return self.perform(sql);
        }
        let before = self.begin()?;
        let answer =
            self.perform(sql).and_then(|answer| self.finish(&before).map(|todos| SqlOutput { todos, ..answer }));
        if answer.is_err() {
            self.end_leftover()?;
        }
        answer
    }

    /// Whether the SQL is one statement that changes nothing, so that it needs no lock.
    fn only_reads(&mut self, sql: &str) -> Result<bool, SqlError> {
        self.with_authorizer(|conn, _notes| {
            let mut batch = Batch::new(conn, sql);
            let first = batch.next();
            let reads = first.is_ok_and(|first| first.is_none_or(|statement| statement.readonly()));
            reads && matches!(batch.next(), Ok(None))
        })
    }

    fn begin(&mut self) -> Result<TransactionStart, SqlError> {
        let SqlSession { conn, grown } = &*self.session;
        let room = (self.limits.growth / PAGE).saturating_sub(*grown);
        let begin = || -> rusqlite::Result<TransactionStart> {
            conn.execute_batch("BEGIN IMMEDIATE")?;
            let before = TransactionStart {
                pages: pages(conn)?,
                cookie: cookie(conn)?,
                schema: guarded_schema(conn)?,
                last_change: todos::last_pending(conn)?,
            };
            conn.pragma_update(None, "max_page_count", before.pages + room)?;
            Ok(before)
        };
        begin().map_err(|error| self.broken(error))
    }

    /// Runs the statements, in a transaction or as one that needs none.
    fn perform(&mut self, sql: &str) -> Result<SqlOutput, SqlError> {
        let mut page = ResultText::new(self.limits.rows, self.limits.output);
        let guard = self.guard.clone();
        let work = self.with_authorizer(|conn, notes| {
            let mut changed = 0;
            let mut batch = Batch::new(conn, sql);
            for number in 1.. {
                notes.forget();
                match advance(conn, &mut batch, &mut page, notes, &guard) {
                    Ok(Some(rows)) => changed += rows,
                    Ok(None) => break,
                    Err(error) => return Err((number, error, notes.refusal())),
                }
            }
            Ok(changed)
        })?;
        let changed = work.map_err(|(number, error, refusal)| self.explain_failure(number, error, refusal))?;
        Ok(SqlOutput { text: page.into_clip(), changed, todos: Vec::new() })
    }

    /// Commits the call's changes, if they are allowed; returns the changed todos.
    fn finish(&mut self, before: &TransactionStart) -> Result<Vec<(TodoId, TodoStatus)>, SqlError> {
        let conn = &self.session.conn;
        if cookie(conn).map_err(|error| self.broken(error))? != before.cookie {
            self.check_schema(before)?;
        }
        self.check_author(before)?;
        let todos = todos::sign(conn, before.last_change, self.author).map_err(|error| self.broken(error))?;
        let todos = todos.map_err(|why| SqlError::Refused(format!("{why}; the call changed nothing")))?;
        if let SignedChangeHook(Some(vouch)) = self.on_signed {
            vouch(before.last_change + 1..=todos::last_pending(conn).map_err(|error| self.broken(error))?);
        }
        let grown = pages(conn).map_err(|error| self.broken(error))?.saturating_sub(before.pages);
        conn.execute_batch("COMMIT").map_err(|error| match error.sqlite_error_code() {
            Some(ErrorCode::ConstraintViolation) => SqlError::Refused(format!("at the end of the call: {error}")),
            _ => self.broken(error),
        })?;
        self.session.grown += grown;
        Ok(todos)
    }

    fn check_author(&self, before: &TransactionStart) -> Result<(), SqlError> {
        // A separate connection sees the rows as they were before this transaction.
        let mut open_error = None;
        let open = || {
            connect::readable(self.path).map_err(|error| {
                open_error = Some(error);
                Error::InvalidQuery
            })
        };
        let found = todos::find_violation(&self.session.conn, open, before.last_change, self.author);
        match (found, open_error) {
            (Ok(None), _) => Ok(()),
            (Ok(Some(why)), _) => Err(SqlError::Refused(format!("{why}; the call changed nothing"))),
            (Err(_), Some(open_error)) => Err(SqlError::Broken(open_error)),
            (Err(error), None) => Err(self.broken(error)),
        }
    }

    fn check_schema(&self, before: &TransactionStart) -> Result<(), SqlError> {
        let conn = &self.session.conn;
        let broken = |error| self.broken(error);
        if guarded_schema(conn).map_err(broken)? != before.schema {
            let text = format!(
                "names that begin with `{}` belong to the runtime, and `todos` and `todo_deps` must keep their schema",
                authorizer::PREFIX
            );
            return Err(SqlError::Refused(text));
        }
        if schema_size(conn).map_err(broken)? > SCHEMA {
            return Err(SqlError::Refused("too many tables, views and indexes; drop some first".into()));
        }
        Ok(())
    }

    /// Ends a transaction that is still open; SQLite may have ended it already.
    fn end_leftover(&self) -> Result<(), SqlError> {
        let conn = &self.session.conn;
        if conn.is_autocommit() {
            return Ok(());
        }
        conn.execute_batch("ROLLBACK").map_err(|error| self.broken(error))
    }

    /// Runs work with the authorizer and the guard installed.
    fn with_authorizer<T>(&mut self, work: impl FnOnce(&Connection, &StatementNotes) -> T) -> Result<T, SqlError> {
        let broken = |error| SqlError::Broken(sqlite_error(self.path)(error));
        let notes = StatementNotes::default();
        let conn = &mut self.session.conn;
        conn.authorizer(Some(notes.authorizer())).map_err(broken)?;
        conn.progress_handler(guard::EVERY, Some(self.guard.watch())).map_err(broken)?;
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
        let message = message(&error);
        match sqlite_error(self.path)(error) {
            StoreError::Full { .. } if has_space(self.path) => {
                let most = self.limits.growth / (1024 * 1024);
                refused(&format!("your tables may add at most {most} MiB to the file; delete rows or drop tables"))
            }
            StoreError::Unexpected { .. } => refused(&message),
            broken => SqlError::Broken(broken),
        }
    }

    fn broken(&self, error: Error) -> SqlError {
        SqlError::Broken(sqlite_error(self.path)(error))
    }
}

/// Runs the next statement and returns how many rows it changed; none when there is no statement.
fn advance(
    conn: &Connection,
    batch: &mut Batch<'_, '_>,
    page: &mut ResultText,
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
    // Writes of triggers do not count; a statement that changes nothing leaves the count of the previous one.
    let changed = || if conn.total_changes() == before { 0 } else { conn.changes() };
    if statement.column_count() == 0 {
        statement.raw_execute()?;
        page.count(changed());
    } else {
        page.table(&mut statement)?;
    }
    Ok(Some(changed()))
}

/// The state of the file at the start of a transaction.
struct TransactionStart {
    pages: u64,
    cookie: [i64; 2],
    schema: Vec<String>,
    /// The number of the last recorded todo change.
    last_change: i64,
}

/// The page size of every file created here.
pub(super) const PAGE: u64 = 4096;

/// Most bytes of schema definitions in a file, since every connection reads them all.
const SCHEMA: u64 = 512 * 1024;

fn pages(conn: &Connection) -> rusqlite::Result<u64> {
    conn.pragma_query_value(None, "page_count", |row| row.get(0))
}

/// The schema versions of the file and of the temporary tables.
fn cookie(conn: &Connection) -> rusqlite::Result<[i64; 2]> {
    let of = |schema| conn.pragma_query_value(Some(schema), "schema_version", |row| row.get(0));
    Ok([of("main")?, of("temp")?])
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

fn message(error: &Error) -> String {
    match error {
        Error::SqlInputError { msg, .. } => msg.clone(),
        Error::SqliteFailure(_, Some(message)) => message.clone(),
        other => other.to_string(),
    }
}

fn has_space(path: &Path) -> bool {
    const SOME: u64 = 1024 * 1024;
    path.parent().and_then(|folder| host::machine::free_bytes(folder).ok()).is_some_and(|free| free > SOME)
}
