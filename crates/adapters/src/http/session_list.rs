//! The sessions there are, run or not.

use host::Home;
use protocol::SessionId;
use store::{SessionIndex, SessionRow};

use super::payloads::{SessionListQuery, SessionOverview, SessionsPage};
use super::problem::HttpProblem;
use super::stored_session::PAGE_MAX;

/// How many rows a page has unless somebody says.
const PAGE: u64 = 100;

/// One page of the sessions there are. It reads files: not for a thread that others wait on.
pub(super) fn list(home: &Home, wanted: &SessionListQuery) -> Result<SessionsPage, HttpProblem> {
    let wanted = store::SessionQuery {
        cwd: wanted.cwd.clone(),
        state: wanted.state.clone(),
        offset: wanted.offset,
        limit: Some(wanted.limit.unwrap_or(PAGE).min(PAGE_MAX)),
    };
    let page = SessionIndex::open(home)?.reconcile(home)?.page(home, &wanted)?;
    Ok(SessionsPage { sessions: page.rows.into_iter().map(summarize).collect(), total: page.total })
}

/// Removes a session that nobody runs.
pub(super) fn remove(home: &Home, id: SessionId) -> Result<(), HttpProblem> {
    store::remove_session(home, id)?;
    Ok(SessionIndex::open(home)?.remove(id)?)
}

fn summarize(row: SessionRow) -> SessionOverview {
    let SessionRow { id, cwd, title, model, created_at, updated_at, state, owner_pid, .. } = row;
    SessionOverview { id, state, cwd, title, model, owner_pid, created_at, updated_at }
}
