//! Lists and removes sessions, running or not.

use host::Home;
use protocol::SessionId;
use store::{SessionIndex, SessionRow};

use super::payloads::{SessionListQuery, SessionOverview, SessionsPage};
use super::problem::HttpProblem;
use super::stored_session::PAGE_MAX;

/// The default number of rows of a page.
const PAGE: u64 = 100;

/// Returns one page of sessions. It reads files, so call it on a blocking thread.
pub(super) fn list(home: &Home, query: &SessionListQuery) -> Result<SessionsPage, HttpProblem> {
    let query = store::SessionQuery {
        cwd: query.cwd.clone(),
        state: query.state.clone(),
        offset: query.offset,
        limit: Some(query.limit.unwrap_or(PAGE).min(PAGE_MAX)),
    };
    let page = SessionIndex::open(home)?.reconcile(home)?.page(home, &query)?;
    Ok(SessionsPage { sessions: page.rows.into_iter().map(summarize).collect(), total: page.total })
}

/// Removes a session that no process runs.
pub(super) fn remove(home: &Home, id: SessionId) -> Result<(), HttpProblem> {
    store::remove_session(home, id)?;
    Ok(SessionIndex::open(home)?.remove(id)?)
}

fn summarize(row: SessionRow) -> SessionOverview {
    let SessionRow { id, cwd, title, model, created_at, updated_at, state, owner_pid, .. } = row;
    SessionOverview { id, state, cwd, title, model, owner_pid, created_at, updated_at }
}
