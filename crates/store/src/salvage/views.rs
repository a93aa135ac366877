//! Rebuilds the views of a session from its events if the rows in its file cannot be read.

use std::path::Path;

use protocol::{Envelope, SessionId};
use rusqlite::{Connection, params};

use crate::error::sqlite_error;
use crate::schema::SESSION;
use crate::{SessionReader, StoreError, connect, event, project};

impl SessionReader {
    /// A reader on a database in memory that is built from these events. An event that cannot be applied because
    /// another one is missing is only added to the log.
    pub fn from_events(id: SessionId, events: &[Envelope]) -> Result<SessionReader, StoreError> {
        // No file has this name, so an empty database is opened.
        let path = Path::new("").join(format!("events of {id}"));
        let mut conn = connect::open_in_memory(&path)?;
        SESSION.migrate(&mut conn, &path)?;
        fill(&mut conn, events).map_err(sqlite_error(&path))?;
        Ok(SessionReader::from_connection(id, path, conn))
    }
}

fn fill(conn: &mut Connection, events: &[Envelope]) -> rusqlite::Result<()> {
    let mut transaction = conn.transaction()?;
    for Envelope { seq, entry, .. } in events {
        transaction
            .prepare_cached("INSERT OR IGNORE INTO bosun_events (seq, v, at, task, body) VALUES (?1, ?2, ?3, ?4, ?5)")?
            .execute(params![
                seq,
                Envelope::VERSION,
                entry.at.0,
                entry.task.to_string(),
                event::event_json(&entry.event)?
            ])?;
        let savepoint = transaction.savepoint()?;
        if project::project(&savepoint, entry).is_ok() {
            savepoint.commit()?;
        }
    }
    transaction.commit()
}
