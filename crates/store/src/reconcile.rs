//! Keeps the index up to date without opening the files of idle sessions. Each row holds the stamp that the session's
//! file had when the row was read from it. A session's file is read again if:
//!
//! - it had an owner, because the owner may have died;
//! - it has a socket, because its owner may have died before it updated the index;
//! - its folder is unknown;
//! - its row is shown and its file has another stamp now.

use std::collections::{HashMap, HashSet};

use host::Home;
use protocol::{SessionId, Timestamp};
use rusqlite::{Connection, OptionalExtension, params};

use crate::index::{delete_session, put_row, session_folders};
use crate::summary::{SessionFileStamp, SessionSummary, SummaryRead, read_session};
use crate::turn_rows::DatedSpending;
use crate::{SessionIndex, SessionReader, StoreError};

/// Maximum number of sessions written in one transaction, since other processes wait for it.
const MAX_PER_TRANSACTION: usize = 256;

impl SessionIndex {
    /// Updates the index from the session folders, unless the disk is full or read-only: a process may have died before
    /// it added its session, and a user may have removed a folder.
    pub fn reconcile(self, home: &Home) -> Result<SessionIndex, StoreError> {
        match self.update_from_folders(home) {
            Ok(()) | Err(StoreError::Full { .. } | StoreError::ReadOnly { .. }) => Ok(self),
            Err(StoreError::Corrupt { .. }) => SessionIndex::rebuild(home),
            Err(error) => Err(error),
        }
    }

    /// Opens the up-to-date index to read it; a copy if the home cannot be written.
    pub fn open_reconciled(home: &Home) -> Result<SessionIndex, StoreError> {
        match SessionIndex::open(home) {
            Ok(index) => index.reconcile(home),
            Err(StoreError::ReadOnly { .. } | StoreError::Denied { .. } | StoreError::Home(_)) => {
                SessionIndex::open_copy(home)?.reconcile(home)
            }
            Err(error) => Err(error),
        }
    }

    /// Records a session. If a power cut loses it, [`SessionIndex::reconcile`] reads it again.
    pub fn record_session(&self, home: &Home, reader: &SessionReader) -> Result<(), StoreError> {
        let record = || -> Result<(), StoreError> {
            let (stamp, read) = reader.read_summary(self.query(|conn| last_indexed_task(conn, reader.id()))?);
            self.query(|conn| conn.pragma_update(None, "synchronous", "NORMAL"))?;
            self.change(|conn| save_session(conn, reader.id(), &stamp, &read))
        };
        match record() {
            Err(StoreError::Corrupt { .. }) => SessionIndex::rebuild(home).map(drop),
            recorded => recorded,
        }
    }

    /// Reads the files of sessions and records them.
    pub(crate) fn record_sessions(&self, home: &Home, ids: &[SessionId]) -> Result<(), StoreError> {
        for chunk in ids.chunks(MAX_PER_TRANSACTION) {
            let last_tasks =
                self.query(|conn| chunk.iter().map(|id| last_indexed_task(conn, *id)).collect::<Result<Vec<_>, _>>())?;
            let summaries: Vec<_> =
                chunk.iter().zip(last_tasks).map(|(id, last)| (*id, read_session(home, *id, last))).collect();
            self.change(|conn| {
                summaries.iter().try_for_each(|(id, (stamp, read))| save_session(conn, *id, stamp, read))
            })?;
        }
        Ok(())
    }

    /// Whether the file of a session has changed since its row was read.
    pub(crate) fn is_stale(&self, home: &Home, id: SessionId) -> Result<bool, StoreError> {
        let known = self.query(|conn| {
            conn.prepare_cached("SELECT stamp FROM sessions WHERE id = ?1 AND owner_pid IS NULL")?
                .query_row([id.to_string()], |row| row.get(0).map(SessionFileStamp))
                .optional()
        })?;
        Ok(known != Some(SessionFileStamp::of(&home.session_db(id))))
    }

    fn update_from_folders(&self, home: &Home) -> Result<(), StoreError> {
        let known = self.indexed_sessions()?;
        let existing: HashSet<SessionId> = session_folders(home)?.into_iter().collect();
        let removed: Vec<SessionId> = known.keys().filter(|id| !existing.contains(id)).copied().collect();
        if !removed.is_empty() {
            self.change(|conn| removed.iter().try_for_each(|id| delete_session(conn, *id)))?;
        }
        let sockets = home.sockets();
        let mut outdated = Vec::new();
        for id in existing {
            let changed = match known.get(&id) {
                None | Some(OwnerPresence::Yes) => true,
                Some(OwnerPresence::No) => sockets.contains(&home.socket(id)) && self.is_stale(home, id)?,
            };
            if changed {
                outdated.push(id);
            }
        }
        self.record_sessions(home, &outdated)
    }

    /// All sessions of the index, and whether they had an owner.
    fn indexed_sessions(&self) -> Result<HashMap<SessionId, OwnerPresence>, StoreError> {
        self.query(|conn| {
            let mut select = conn.prepare_cached("SELECT id, owner_pid IS NOT NULL FROM sessions")?;
            let rows = select.query_map([], |row| {
                let id = row.get_ref(0)?.as_str()?.parse().map_err(crate::error::unreadable)?;
                Ok((id, if row.get(1)? { OwnerPresence::Yes } else { OwnerPresence::No }))
            })?;
            rows.collect()
        })
    }
}

/// When a session's id was created: its first 48 bits are the time.
fn id_created_at(id: SessionId) -> Timestamp {
    Timestamp(id.uuid().as_u64_pair().0 >> 16)
}

/// Whether a session had an owner when its row was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OwnerPresence {
    Yes,
    No,
}

/// The row number of the last task of a session that the index knows.
fn last_indexed_task(conn: &Connection, id: SessionId) -> rusqlite::Result<i64> {
    conn.prepare_cached("SELECT ifnull(max(last_task), 0) FROM sessions WHERE id = ?1")?
        .query_row([id.to_string()], |row| row.get(0))
}

/// Saves a session's summary. An unreadable session keeps its known values; a new one has only the time in its id.
fn save_session(
    conn: &Connection,
    id: SessionId,
    stamp: &SessionFileStamp,
    read: &SummaryRead,
) -> rusqlite::Result<()> {
    match read {
        SummaryRead::Summary(summary) => save_summary(conn, id, stamp, summary),
        SummaryRead::Absent => delete_session(conn, id),
        SummaryRead::Unreadable(state) => {
            conn.prepare_cached(
                "INSERT INTO sessions (id, cwd, title, model, state, has_open_asks, cost_tokens, cost_micros, priced,
                                       created_at, updated_at, stamp)
                 VALUES (?1, '', '', '', ?2, 0, 0, 0, 1, ?4, ?4, ?3)
                 ON CONFLICT DO UPDATE SET state = excluded.state, stamp = excluded.stamp, owner_pid = NULL",
            )?
            .execute(params![id.to_string(), state, stamp.0, id_created_at(id).0])?;
            Ok(())
        }
    }
}

fn save_summary(
    conn: &Connection,
    id: SessionId,
    stamp: &SessionFileStamp,
    summary: &SessionSummary,
) -> rusqlite::Result<()> {
    let session = id.to_string();
    put_row(conn, &summary.row, stamp)?;
    conn.prepare_cached("UPDATE sessions SET last_task = ?2, task_states = ?3 WHERE id = ?1")?.execute(params![
        session,
        summary.last_task,
        summary.task_states
    ])?;
    let mut insert = conn.prepare_cached("INSERT OR IGNORE INTO session_tasks (task, session) VALUES (?1, ?2)")?;
    summary.tasks.iter().try_for_each(|task| insert.execute([task, &session]).map(drop))?;
    conn.prepare_cached("DELETE FROM spendings WHERE session = ?1")?.execute([&session])?;
    summary.spendings.iter().try_for_each(|spent| save_spending(conn, &session, spent))
}

fn save_spending(conn: &Connection, session: &str, spent: &DatedSpending) -> rusqlite::Result<()> {
    let DatedSpending { spending, first_at, last_at } = spent;
    conn.prepare_cached(
        "INSERT INTO spendings VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18)",
    )?
    .execute(params![
        session,
        spending.task.to_string(),
        spending.path,
        spending.agent,
        spending.requested_model,
        spending.reported_model,
        spending.turns,
        spending.usage.input,
        spending.usage.output,
        spending.usage.cache_read,
        spending.usage.cache_write,
        spending.cost.tokens,
        spending.cost.micros,
        spending.lost.tokens,
        spending.lost.micros,
        spending.priced,
        first_at.0,
        last_at.0
    ])?;
    Ok(())
}
