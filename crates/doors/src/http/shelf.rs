//! The sessions there are, run or not.

use host::Home;
use protocol::SessionId;
use store::{Index, SessionRow};

use super::file::PAGE_MAX;
use super::problem::Problem;
use super::words::{SessionBrief, SessionsPage, SessionsWanted};

/// How many rows a page has unless somebody says.
const PAGE: u64 = 100;

/// One page of the sessions there are. It reads files: not for a thread that others wait on.
pub(super) fn list(home: &Home, wanted: &SessionsWanted) -> Result<SessionsPage, Problem> {
    let wanted = store::SessionsWanted {
        cwd: wanted.cwd.clone(),
        state: wanted.state.clone(),
        offset: wanted.offset,
        limit: Some(wanted.limit.unwrap_or(PAGE).min(PAGE_MAX)),
    };
    let page = Index::open(home)?.agree(home)?.page(home, &wanted)?;
    Ok(SessionsPage { sessions: page.rows.into_iter().map(brief).collect(), total: page.total })
}

/// Removes a session that nobody runs.
pub(super) fn remove(home: &Home, id: SessionId) -> Result<(), Problem> {
    store::remove_session(home, id)?;
    Ok(Index::open(home)?.remove(id)?)
}

fn brief(row: SessionRow) -> SessionBrief {
    let SessionRow { id, cwd, title, model, created_at, updated_at, state, owner_pid, .. } = row;
    SessionBrief { id, state, cwd, title, model, owner_pid, created_at, updated_at }
}
