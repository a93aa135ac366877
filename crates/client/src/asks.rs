//! The asks of all sessions, read from their files.

use host::Home;
use protocol::api::{AllAsksResult, AskView, SessionAskView, UnreadableSession};
use protocol::{AskDecision, AskId, SessionId};
use store::StoreError;

use crate::{StoredSession, sessions};

/// Which asks of a session are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskFilter {
    /// Those that wait for a decision.
    Open,
    /// Also those that were decided or withdrawn.
    All,
}

/// The asks of all sessions that may have open ones, oldest first.
pub fn of_waiting_sessions(home: &Home, filter: AskFilter) -> Result<AllAsksResult, StoreError> {
    Ok(of_sessions(home, &sessions::possibly_waiting(home)?, filter))
}

/// The asks of these sessions, oldest first. A session that cannot be read is named and left out.
pub fn of_sessions(home: &Home, sessions: &[SessionId], filter: AskFilter) -> AllAsksResult {
    let mut result = AllAsksResult { asks: Vec::new(), unreadable: Vec::new() };
    for id in sessions {
        match of_session(home, *id, filter) {
            Ok(asks) => result.asks.extend(asks),
            // It was removed in the meantime.
            Err(StoreError::Missing { .. }) => {}
            Err(error) => result.unreadable.push(UnreadableSession { session: *id, why: error.to_string() }),
        }
    }
    result.asks.sort_by_key(|ask| ask.view.asked_at);
    result
}

fn of_session(home: &Home, id: SessionId, filter: AskFilter) -> Result<Vec<SessionAskView>, StoreError> {
    let stored = StoredSession::open(home, id)?;
    let asks = match filter {
        AskFilter::Open => stored.open_asks()?,
        AskFilter::All => stored.all_asks()?,
    };
    if asks.is_empty() {
        return Ok(Vec::new());
    }
    let session = stored.view()?;
    let queued = stored.queued_decisions()?;
    let with_session = |view: AskView| SessionAskView {
        queued_decision: queued_decision(&queued, &view.ask.id).cloned(),
        cwd: session.cwd.clone(),
        title: session.title.clone(),
        owner_pid: session.owner_pid,
        view,
    };
    Ok(asks.into_iter().map(with_session).collect())
}

/// The queued decision on an ask: the first one counts.
pub fn queued_decision<'a>(queued: &'a [(AskId, AskDecision)], ask: &AskId) -> Option<&'a AskDecision> {
    queued.iter().find(|(queued, _)| queued == ask).map(|(_, decision)| decision)
}
