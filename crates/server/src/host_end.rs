//! Why a host ends, which decides how the sessions that it holds continue.

use std::sync::{Arc, Mutex, PoisonError};

/// Why a host ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostEnd {
    /// It had nothing to do.
    Idle,
    /// A client asked it to stop: its sessions stay interrupted until a client resumes them.
    Stopped,
    /// A signal asked it to end: the next host resumes the sessions.
    Terminated,
    /// Another process takes over, and resumes the sessions.
    HandedOver,
}

/// Why the host ends, once that is known; until then, it counts as terminated.
#[derive(Debug, Clone, Default)]
pub(crate) struct AnnouncedEnd(Arc<Mutex<Option<HostEnd>>>);

impl AnnouncedEnd {
    pub(crate) fn set(&self, end: HostEnd) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(end);
    }

    pub(crate) fn get(&self) -> HostEnd {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).unwrap_or(HostEnd::Terminated)
    }
}
