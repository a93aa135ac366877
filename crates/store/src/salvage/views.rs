//! Views of a session whose own rows cannot be read, made again from its events.

use std::path::Path;

use protocol::{Envelope, SessionId};
use rusqlite::{Connection, params};

use crate::error::fault;
use crate::schema::SESSION;
use crate::{SessionReader, StoreError, connect, event, project};

impl SessionReader {
    /// A reader of a session as these of its events make it, in memory. An event that makes no sense without one that
    /// is missing changes nothing but the log.
    pub fn of_events(id: SessionId, events: &[Envelope]) -> Result<SessionReader, StoreError> {
        // No file has such a name, so that an empty database is opened.
        let path = Path::new("").join(format!("events of {id}"));
        let mut conn = connect::in_memory(&path)?;
        SESSION.migrate(&mut conn, &path)?;
        fill(&mut conn, events).map_err(fault(&path))?;
        Ok(SessionReader::from_connection(id, path, conn))
    }
}

fn fill(conn: &mut Connection, events: &[Envelope]) -> rusqlite::Result<()> {
    let mut change = conn.transaction()?;
    for Envelope { seq, entry, .. } in events {
        change
            .prepare_cached("INSERT OR IGNORE INTO bosun_events (seq, v, at, task, body) VALUES (?1, ?2, ?3, ?4, ?5)")?
            .execute(params![seq, Envelope::VERSION, entry.at.0, entry.task.to_string(), event::json(&entry.event)?])?;
        let step = change.savepoint()?;
        if project::project(&step, entry).is_ok() {
            step.commit()?;
        }
    }
    change.commit()
}
