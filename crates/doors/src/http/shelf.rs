//! The sessions there are, run or not.

use host::Home;
use protocol::SessionId;
use store::{Index, Reader, SessionRow, StoreError};

use super::file::PAGE_MAX;
use super::problem::Problem;
use super::words::{SessionBrief, SessionsPage, SessionsWanted};

/// How many rows a page has unless somebody says.
const PAGE: u64 = 100;

/// One page of the sessions there are. It reads many files: not for a thread that others wait on.
pub(super) fn list(home: &Home, wanted: &SessionsWanted) -> Result<SessionsPage, Problem> {
    let rows = Index::open(home)?.agree(home)?.list(wanted.cwd.as_deref())?;
    let offset = usize::try_from(wanted.offset).unwrap_or(usize::MAX);
    let limit = usize::try_from(wanted.limit.unwrap_or(PAGE).min(PAGE_MAX)).unwrap_or(usize::MAX);
    let Some(state) = &wanted.state else {
        let total = rows.len() as u64;
        let sessions = rows.into_iter().skip(offset).take(limit).map(|row| truth(home, row)).collect();
        return Ok(SessionsPage { sessions, total });
    };
    let mut total = 0;
    let mut sessions = Vec::new();
    for brief in rows.into_iter().map(|row| truth(home, row)).filter(|brief| brief.state == *state) {
        if total >= offset && sessions.len() < limit {
            sessions.push(brief);
        }
        total += 1;
    }
    Ok(SessionsPage { sessions, total: total as u64 })
}

/// Removes a session that nobody runs.
pub(super) fn remove(home: &Home, id: SessionId) -> Result<(), Problem> {
    store::remove_session(home, id)?;
    Ok(Index::open(home)?.remove(id)?)
}

/// The index is a cache; what a session is doing now is in its own file.
fn truth(home: &Home, row: SessionRow) -> SessionBrief {
    let SessionRow { id, cwd, title, model, created_at, updated_at, state: _ } = row;
    let brief = SessionBrief { id, state: String::new(), cwd, title, model, owner_pid: None, created_at, updated_at };
    match Reader::open(home, id).and_then(|reader| reader.session_view()) {
        Ok(view) => SessionBrief {
            state: view.state.word().into(),
            title: view.title,
            model: view.model,
            owner_pid: view.owner_pid,
            updated_at: view.updated_at,
            ..brief
        },
        Err(StoreError::Corrupt { .. }) => SessionBrief { state: "damaged".into(), ..brief },
        Err(StoreError::Newer { .. }) => SessionBrief { state: "newer".into(), ..brief },
        Err(_other) => SessionBrief { state: "unreadable".into(), ..brief },
    }
}
