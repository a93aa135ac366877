//! The sessions of a home: finds, lists and removes them.

use host::Home;
use protocol::SessionId;
use store::{SessionIndex, SessionMatch, SessionPage, SessionQuery, StoreError};

use crate::ClientError;

/// How many sessions an error about an ambiguous prefix names.
const MAX_NAMED_SESSIONS: usize = 5;

/// The session of a folder with the latest event.
pub fn latest(home: &Home, cwd: &str) -> Result<Option<SessionId>, StoreError> {
    let query = SessionQuery { cwd: Some(cwd.to_owned()), limit: Some(1), ..SessionQuery::default() };
    Ok(list(home, &query)?.rows.first().map(|row| row.id))
}

/// The one session whose id begins with the prefix. A whole id names a folder even if the index cannot read it.
pub fn find(home: &Home, prefix: &str) -> Result<SessionId, ClientError> {
    match SessionIndex::open_reconciled(home)?.find(prefix)? {
        SessionMatch::One(row) => Ok(row.id),
        SessionMatch::NotFound => {
            let whole = prefix.parse().ok().filter(|id| home.session_dir(*id).is_dir());
            whole.ok_or_else(|| ClientError::NoSession { prefix: prefix.to_owned() })
        }
        SessionMatch::Many(rows) => {
            let ids = rows.iter().take(MAX_NAMED_SESSIONS).map(|row| row.id).collect();
            Err(ClientError::Ambiguous { prefix: prefix.to_owned(), ids })
        }
    }
}

/// One page of sessions, newest first.
pub fn list(home: &Home, query: &SessionQuery) -> Result<SessionPage, StoreError> {
    SessionIndex::open_reconciled(home)?.page(home, query)
}

/// Removes a session that no process runs, and its entry in the index.
pub fn remove(home: &Home, id: SessionId) -> Result<(), StoreError> {
    store::remove_session(home, id)?;
    SessionIndex::open(home)?.remove(id)
}

/// The sessions that may have open asks, oldest first.
pub fn possibly_waiting(home: &Home) -> Result<Vec<SessionId>, StoreError> {
    let rows = SessionIndex::open_reconciled(home)?.possibly_waiting()?;
    Ok(rows.into_iter().map(|row| row.id).collect())
}

/// The sessions that have a task whose id begins with `prefix`, at most `limit` of them.
pub fn of_task(home: &Home, prefix: &str, limit: u32) -> Result<Vec<SessionId>, StoreError> {
    SessionIndex::open_reconciled(home)?.sessions_of_task(prefix, limit)
}

/// All sessions, newest first; with a state, only those that have a task in it.
pub fn with_task_state(home: &Home, task_state: Option<&str>) -> Result<Vec<SessionId>, StoreError> {
    SessionIndex::open_reconciled(home)?.newest_with_task_state(task_state)
}

/// Accepts the log of a session as it is, although committed events are missing or differ; returns the number of its
/// last event.
pub fn repair(home: &Home, id: SessionId) -> Result<u64, StoreError> {
    store::accept_log(home, id)
}
