//! Queries on the index: pages of sessions, sessions that may have open asks, the session of a task, and spending.

use std::collections::HashSet;

use host::Home;
use protocol::{SessionId, Timestamp};
use rusqlite::{Connection, params};

use crate::error::unreadable;
use crate::index::session_row;
use crate::turn_rows::spending;
use crate::{SessionIndex, SessionRow, StoreError, TaskSpending};

/// A query for sessions, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionQuery {
    /// Only sessions of this folder.
    pub cwd: Option<String>,
    /// Only sessions in this state.
    pub state: Option<String>,
    /// How many sessions to skip.
    pub offset: u64,
    /// Maximum number of sessions to return; all when absent.
    pub limit: Option<u64>,
}

/// One page of sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionPage {
    /// The page.
    pub rows: Vec<SessionRow>,
    /// How many there are in total.
    pub total: u64,
}

/// What sessions spent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SpendingReport {
    /// All spending, with its session and that session's title.
    pub spendings: Vec<(SessionId, String, TaskSpending)>,
    /// Sessions that are only partly in the period, or unknown to the index: their own files must be read.
    pub partly_counted: Vec<SessionId>,
}

/// The state of a session whose root is idle.
const IDLE_STATE: &str = "idle";

impl SessionIndex {
    /// One page of sessions, up to date: a session whose file has changed since it was indexed is read again.
    pub fn page(&self, home: &Home, query: &SessionQuery) -> Result<SessionPage, StoreError> {
        let page = self.known_page(query)?;
        let mut stale = Vec::new();
        for row in &page.rows {
            if row.owner_pid.is_none() && self.is_stale(home, row.id)? {
                stale.push(row.id);
            }
        }
        if stale.is_empty() {
            return Ok(page);
        }
        match self.record_sessions(home, &stale) {
            Ok(()) => self.known_page(query),
            Err(StoreError::Full { .. } | StoreError::ReadOnly { .. }) => Ok(page),
            Err(error) => Err(error),
        }
    }

    /// The sessions that may have open asks, oldest first.
    pub fn possibly_waiting(&self) -> Result<Vec<SessionRow>, StoreError> {
        let mut rows = self.list(None)?;
        rows.retain(|row| row.has_open_asks || row.state != IDLE_STATE || row.owner_pid.is_some());
        rows.reverse();
        Ok(rows)
    }

    /// The sessions that have a task whose id begins with `prefix`, at most `limit` of them.
    pub fn sessions_of_task(&self, prefix: &str, limit: u32) -> Result<Vec<SessionId>, StoreError> {
        let bare = prefix.strip_prefix("task-").unwrap_or(prefix);
        let (from, to) = (format!("task-{bare}"), format!("task-{bare}~"));
        self.query(|conn| {
            conn.prepare_cached("SELECT DISTINCT session FROM session_tasks WHERE task >= ?1 AND task < ?2 LIMIT ?3")?
                .query_map(params![from, to, limit], |row| row.get_ref(0)?.as_str()?.parse().map_err(unreadable))?
                .collect()
        })
    }

    /// All sessions, newest first; with a state, only those that have a task in it.
    pub fn newest_with_task_state(&self, task_state: Option<&str>) -> Result<Vec<SessionId>, StoreError> {
        let state = task_state.map(|state| format!(" {state} "));
        self.query(|conn| {
            conn.prepare_cached(
                "SELECT id FROM sessions WHERE ?1 IS NULL OR instr(task_states, ?1) > 0 OR state IN ('damaged', 'newer')
                 ORDER BY updated_at DESC, id DESC",
            )?
            .query_map([state], |row| row.get_ref(0)?.as_str()?.parse().map_err(unreadable))?
            .collect()
        })
    }

    /// What the sessions of a folder, or all of them, spent on turns that began at `since` or later.
    pub fn spendings(&self, cwd: Option<&str>, since: Timestamp) -> Result<SpendingReport, StoreError> {
        self.query(|conn| spendings(conn, cwd, since))
    }

    fn known_page(&self, query: &SessionQuery) -> Result<SessionPage, StoreError> {
        let SessionQuery { cwd, state, offset, limit } = query;
        // A separate condition for a folder, so that its index is used.
        let condition = match cwd {
            Some(_) => "WHERE cwd = ?1 AND (?2 IS NULL OR state = ?2)",
            None => "WHERE ?1 IS NULL AND (?2 IS NULL OR state = ?2)",
        };
        let clamp = |number: u64| number.min(i64::MAX.unsigned_abs());
        let (offset, limit) = (clamp(*offset), clamp(limit.unwrap_or(u64::MAX)));
        self.query(|conn| {
            let rows = conn
                .prepare_cached(&format!(
                    "SELECT * FROM sessions {condition} ORDER BY updated_at DESC, id DESC LIMIT ?3 OFFSET ?4"
                ))?
                .query_map(params![cwd, state, limit, offset], session_row)?
                .collect::<rusqlite::Result<_>>()?;
            let total = conn
                .prepare_cached(&format!("SELECT count(*) FROM sessions {condition}"))?
                .query_row(params![cwd, state], |row| row.get(0))?;
            Ok(SessionPage { rows, total })
        })
    }
}

/// What the sessions of a folder, or all of them, spent on turns that began at `since` or later.
fn spendings(conn: &Connection, cwd: Option<&str>, since: Timestamp) -> rusqlite::Result<SpendingReport> {
    let since = since.0.min(i64::MAX.unsigned_abs());
    let partly_counted = sessions_to_read(conn, cwd, since)?;
    let mut select = conn.prepare_cached(&format!("SELECT x.*, s.title {OF} ORDER BY x.first_at"))?;
    let rows = select.query_map(params![cwd, since], |row| {
        let session = row.get_ref("session")?.as_str()?.parse().map_err(unreadable)?;
        Ok((session, row.get("title")?, spending(row)?))
    })?;
    let mut spendings: Vec<(SessionId, String, TaskSpending)> = rows.collect::<rusqlite::Result<_>>()?;
    spendings.retain(|(session, ..)| !partly_counted.contains(session));
    Ok(SpendingReport { spendings, partly_counted: partly_counted.into_iter().collect() })
}

/// What all sessions spent on turns since a time, in millionths of a US dollar, and the sessions whose own files must
/// be read because the index does not say enough about them.
pub(crate) fn spent_micros_since(conn: &Connection, since: Timestamp) -> rusqlite::Result<(u64, HashSet<SessionId>)> {
    let since = since.0.min(i64::MAX.unsigned_abs());
    let mut select = conn.prepare_cached(
        "SELECT cost_micros FROM spendings WHERE last_at >= ?1
         AND session NOT IN (SELECT session FROM spendings WHERE last_at >= ?1 AND first_at < ?1)",
    )?;
    let costs = select.query_map([since], |row| row.get::<_, u64>(0))?;
    let sum = costs.into_iter().try_fold(0_u64, |sum, cost| cost.map(|cost| sum.saturating_add(cost)))?;
    Ok((sum, sessions_to_read(conn, None, since)?))
}

/// Selects the spending in sessions of a folder, or in all, whose last turn began at a time or later.
const OF: &str = "FROM spendings AS x JOIN sessions AS s ON s.id = x.session
                  WHERE (?1 IS NULL OR s.cwd = ?1) AND x.last_at >= ?2";

/// The sessions whose own files must be read to know what they spent since a time.
fn sessions_to_read(conn: &Connection, cwd: Option<&str>, since: u64) -> rusqlite::Result<HashSet<SessionId>> {
    conn.prepare_cached(&format!(
        "SELECT x.session {OF} AND x.first_at < ?2 UNION
         SELECT id FROM sessions WHERE (?1 IS NULL OR cwd = ?1) AND state IN ('damaged', 'newer', 'unreadable')
             AND id NOT IN (SELECT session FROM spendings)",
    ))?
    .query_map(params![cwd, since], |row| row.get_ref(0)?.as_str()?.parse().map_err(unreadable))?
    .collect()
}
