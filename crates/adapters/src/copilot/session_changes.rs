//! Notifies of changes to a session: new log entries, and events of its clients.

use std::time::Duration;

use runtime::SessionStatus;
use tokio::sync::watch;

/// Notifies of changes to a session.
pub(crate) struct SessionChanges {
    /// Events of clients.
    pub(crate) of_clients: watch::Receiver<u64>,
    /// The state of the session, if this process runs it.
    pub(crate) of_session: Option<watch::Receiver<SessionStatus>>,
}

impl SessionChanges {
    /// Waits for the next change. If another process runs the session, or it has ended, waits at most this pause.
    pub(crate) async fn changed(&mut self, pause: Duration) {
        let of_session = async {
            let changed = match &mut self.of_session {
                Some(status) => status.changed().await.is_ok(),
                None => false,
            };
            if !changed {
                tokio::time::sleep(pause).await;
            }
        };
        tokio::select! {
            // Fails only if the session is gone.
            _changed = self.of_clients.changed() => {}
            () = of_session => {}
        }
    }
}
