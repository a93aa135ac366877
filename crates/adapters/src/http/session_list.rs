//! Lists and removes sessions, running or not.

use client::{SessionQuery, SessionRow, sessions};
use host::Home;
use protocol::SessionId;

use super::payloads::{SessionListQuery, SessionOverview, SessionsPage};
use super::problem::HttpProblem;

/// The maximum number of rows of a page.
const MAX_PAGE_ROWS: u64 = 1000;

/// The default number of rows of a page.
const DEFAULT_PAGE_ROWS: u64 = 100;

/// Returns one page of sessions. It reads files, so call it on a blocking thread.
pub(super) fn list(home: &Home, query: &SessionListQuery) -> Result<SessionsPage, HttpProblem> {
    let query = SessionQuery {
        cwd: query.cwd.clone(),
        state: query.state.clone(),
        offset: query.offset,
        limit: Some(query.limit.unwrap_or(DEFAULT_PAGE_ROWS).min(MAX_PAGE_ROWS)),
    };
    let page = sessions::list(home, &query)?;
    Ok(SessionsPage { sessions: page.rows.into_iter().map(summarize).collect(), total: page.total })
}

/// Removes a session that no process runs.
pub(super) fn remove(home: &Home, id: SessionId) -> Result<(), HttpProblem> {
    Ok(sessions::remove(home, id)?)
}

fn summarize(row: SessionRow) -> SessionOverview {
    let SessionRow { id, cwd, title, model, created_at, updated_at, state, owner_pid, .. } = row;
    SessionOverview { id, state, cwd, title, model, owner_pid, created_at, updated_at }
}
