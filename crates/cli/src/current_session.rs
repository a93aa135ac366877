//! The session that this process has open: the log names it, and so does a report of a panic.

use std::sync::{Mutex, PoisonError};

use protocol::SessionId;

static OPEN: Mutex<Option<SessionId>> = Mutex::new(None);

/// Takes note that this session is open from now on.
pub(crate) fn set(session: SessionId) {
    *OPEN.lock().unwrap_or_else(PoisonError::into_inner) = Some(session);
}

/// The session that was opened last, if any was.
pub(crate) fn get() -> Option<SessionId> {
    *OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}
