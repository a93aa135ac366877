//! The session open in this process, named in the log and in panic reports.

use std::sync::{Mutex, PoisonError};

use protocol::SessionId;

static OPEN: Mutex<Option<SessionId>> = Mutex::new(None);

/// Records the open session.
pub(crate) fn set(session: SessionId) {
    *OPEN.lock().unwrap_or_else(PoisonError::into_inner) = Some(session);
}

/// Returns the session opened last, if any.
pub(crate) fn get() -> Option<SessionId> {
    *OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}
