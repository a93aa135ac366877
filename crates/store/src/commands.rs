//! Commands that the user left in the file of a session without an owner.
//!
//! A file does not show who wrote to it, and the programs of agents run as the same user. So commands in the file are
//! ignored while the session has an owner, which takes commands on its socket. A command is applied only if it was
//! written when no program of the session could run: before a process writes or applies a command, it makes sure that
//! no program runs, and refuses the commands that are already in the file.

use host::{Home, IdleSession};
use protocol::api::{CommandOutcome, RefusalKind, SessionCommand};
use protocol::{SessionId, Timestamp};
use rusqlite::{Connection, TransactionBehavior, params};

use crate::error::sqlite_error;
use crate::session::open_current;
use crate::{StoreError, event, lease};

/// Why a command that a program may have written is not carried out.
const UNVERIFIED: &str = "it was written while programs of agents could write to the session's file; send it again";

/// Writes a command for the next owner into the file of a session without an owner; returns its number.
pub fn post_command(home: &Home, id: SessionId, command: &SessionCommand, now: Timestamp) -> Result<i64, StoreError> {
    let body = event::to_json(command).map_err(sqlite_error(&home.session_db(id)))?;
    edit_unowned(home, id, |conn| {
        conn.execute("INSERT INTO bosun_commands (at, body) VALUES (?1, ?2)", params![now.0, body])?;
        Ok(conn.last_insert_rowid())
    })
}

/// Refuses commands that programs may have left in the file of a session that was just taken over.
pub fn refuse_unverified(home: &Home, id: SessionId, idle_session: &mut IdleSession) -> Result<(), StoreError> {
    if idle_session.had_programs() {
        let path = home.session_db(id);
        let conn = open_current(home, id, &path)?;
        mark_unverified_refused(&conn).map_err(sqlite_error(&path))?;
        idle_session.clear_programs_record().map_err(|error| StoreError::Home(error.to_string()))?;
    }
    Ok(())
}

/// Changes the file of a session that has no owner and no running programs.
pub(crate) fn edit_unowned<T>(
    home: &Home,
    id: SessionId,
    edit: impl FnOnce(&Connection) -> rusqlite::Result<T>,
) -> Result<T, StoreError> {
    let path = home.session_db(id);
    let mut conn = open_current(home, id, &path)?;
    expect_unowned(&conn).map_err(sqlite_error(&path))??;
    let mut idle_session = home.take_idle_session(id).map_err(|error| StoreError::Home(error.to_string()))?;
    let transaction = conn.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sqlite_error(&path))?;
    expect_unowned(&transaction).map_err(sqlite_error(&path))??;
    let result = (|| {
        if idle_session.had_programs() {
            mark_unverified_refused(&transaction)?;
        }
        edit(&transaction)
    })();
    let result = result.map_err(sqlite_error(&path))?;
    transaction.commit().map_err(sqlite_error(&path))?;
    idle_session.clear_programs_record().map_err(|error| StoreError::Home(error.to_string()))?;
    Ok(result)
}

fn expect_unowned(conn: &Connection) -> rusqlite::Result<Result<(), StoreError>> {
    let pid = lease::read(conn)?.and_then(|lease| lease.live_pid());
    Ok(pid.map_or(Ok(()), |pid| Err(StoreError::Owned { pid })))
}

fn mark_unverified_refused(conn: &Connection) -> rusqlite::Result<()> {
    let outcome = CommandOutcome::Refused { kind: RefusalKind::Unverified, message: UNVERIFIED.into() };
    conn.execute(
        "UPDATE bosun_commands SET applied_at = at, body = '', outcome = ?1 WHERE applied_at IS NULL",
        [event::to_json(&outcome)?],
    )?;
    // The author of an unverified todo must not match any task.
    conn.execute(
        "UPDATE bosun_todo_log SET author = ''
         WHERE author IS NULL OR author IN (SELECT id FROM bosun_tasks WHERE parent IS NULL)",
        [],
    )?;
    Ok(())
}
