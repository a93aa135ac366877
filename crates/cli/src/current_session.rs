//! The session open in this process, named in the log and in panic reports.

use std::sync::{Mutex, PoisonError};

use protocol::SessionId;

static OPEN: Mutex<Option<(SessionId, SessionUse)>> = Mutex::new(None);

/// What this process does in the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SessionUse {
    /// It runs a prompt or a conversation.
    Conversation,
    /// It runs a fleet.
    Fleet,
}

/// Records the open session.
pub(crate) fn set(session: SessionId, usage: SessionUse) {
    *OPEN.lock().unwrap_or_else(PoisonError::into_inner) = Some((session, usage));
}

/// Returns the session opened last, if any.
pub(crate) fn get() -> Option<SessionId> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner).map(|(session, _)| session)
}

/// Returns the command that resumes the session opened last. It reads no file: this process may have failed.
pub(crate) fn resume_command() -> Option<String> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner).map(|(session, usage)| match usage {
        SessionUse::Conversation => format!("bosun --resume {session}"),
        SessionUse::Fleet => format!("bosun fleet resume {session}"),
    })
}
