//! Commands that a person left in the file of a session that nobody runs.
//!
//! A file cannot tell who wrote to it, and the programs of agents belong to the same user. So nothing that is written
//! there counts while an owner lives, who hears people on its socket. What counts is what was written when no program of
//! the session could run any more: whoever leaves a command, or takes one, first makes sure of that and refuses what was
//! there before.

use host::{Home, IdleSession};
use protocol::api::{CommandOutcome, RefusalKind, SessionCommand};
use protocol::{SessionId, Timestamp};
use rusqlite::{Connection, TransactionBehavior, params};

use crate::error::fault;
use crate::session::open_current;
use crate::{StoreError, event, lease};

/// Why a command is not carried out that a program may have written.
const UNVERIFIED: &str = "it was in the session's file while programs of agents could write there; give it again";

/// Leaves a command for the next owner of a session that nobody runs; returns its number.
pub fn post_command(home: &Home, id: SessionId, command: &SessionCommand, now: Timestamp) -> Result<i64, StoreError> {
    let body = event::json(command).map_err(fault(&home.session_db(id)))?;
    at_rest(home, id, |conn| {
        conn.execute("INSERT INTO bosun_commands (at, body) VALUES (?1, ?2)", params![now.0, body])?;
        Ok(conn.last_insert_rowid())
    })
}

/// Refuses what programs may have left in the file of a session that was just taken, and gives what is left of it.
pub fn refuse_unverified(home: &Home, id: SessionId, settled: &mut IdleSession) -> Result<(), StoreError> {
    if settled.had_programs() {
        let path = home.session_db(id);
        let conn = open_current(home, id, &path)?;
        mark_unverified_refused(&conn).map_err(fault(&path))?;
        settled.forget_programs().map_err(|error| StoreError::Home(error.to_string()))?;
    }
    Ok(())
}

/// Changes the file of a session that nobody runs and no program of which runs.
pub(crate) fn at_rest<T>(
    home: &Home,
    id: SessionId,
    edit: impl FnOnce(&Connection) -> rusqlite::Result<T>,
) -> Result<T, StoreError> {
    let path = home.session_db(id);
    let mut conn = open_current(home, id, &path)?;
    expect_unowned(&conn).map_err(fault(&path))??;
    let mut settled = home.settle_session(id).map_err(|error| StoreError::Home(error.to_string()))?;
    let change = conn.transaction_with_behavior(TransactionBehavior::Immediate).map_err(fault(&path))?;
    expect_unowned(&change).map_err(fault(&path))??;
    let edited = (|| {
        if settled.had_programs() {
            mark_unverified_refused(&change)?;
        }
        edit(&change)
    })();
    let edited = edited.map_err(fault(&path))?;
    change.commit().map_err(fault(&path))?;
    settled.forget_programs().map_err(|error| StoreError::Home(error.to_string()))?;
    Ok(edited)
}

fn expect_unowned(conn: &Connection) -> rusqlite::Result<Result<(), StoreError>> {
    let pid = lease::read(conn)?.and_then(|lease| lease.live_pid());
    Ok(pid.map_or(Ok(()), |pid| Err(StoreError::Owned { pid })))
}

fn mark_unverified_refused(conn: &Connection) -> rusqlite::Result<()> {
    let outcome = CommandOutcome::Refused { kind: RefusalKind::Unverified, message: UNVERIFIED.into() };
    conn.execute(
        "UPDATE bosun_commands SET applied_at = at, body = '', outcome = ?1 WHERE applied_at IS NULL",
        [event::json(&outcome)?],
    )?;
    // A todo that nobody vouches for has no author that any task goes by.
    conn.execute(
        "UPDATE bosun_todo_log SET author = ''
         WHERE author IS NULL OR author IN (SELECT id FROM bosun_tasks WHERE parent IS NULL)",
        [],
    )?;
    Ok(())
}
