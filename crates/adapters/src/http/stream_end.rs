//! How event streams end when the server does.

use std::sync::{Arc, OnceLock};

use tokio_util::sync::CancellationToken;

/// How event streams end when the server does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamEnd {
    /// The streams are complete: no process runs the sessions.
    Complete,
    /// The streams break off without an `end`: clients reconnect to the process that takes over.
    HandedOver,
}

/// Tells the parts of the server that it closes, and how its streams end.
#[derive(Debug, Clone, Default)]
pub(crate) struct StreamClosing {
    end: Arc<OnceLock<StreamEnd>>,
    token: CancellationToken,
}

impl StreamClosing {
    /// Closes the server; only the first call decides how its streams end.
    pub(crate) fn close(&self, end: StreamEnd) {
        self.end.get_or_init(|| end);
        self.token.cancel();
    }

    /// Waits until the server closes.
    pub(crate) async fn closed(&self) {
        self.token.cancelled().await;
    }

    /// Whether another process takes over the sessions.
    pub(crate) fn is_handed_over(&self) -> bool {
        self.end.get() == Some(&StreamEnd::HandedOver)
    }
}
