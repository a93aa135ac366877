//! The state that all clients of one process share: the session host, the token, and the hosted sessions.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use protocol::SessionId;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::base_dir::ClientBaseDir;
use super::hosted_session::HostedSession;
use super::session_clients::SessionClient;
use crate::SessionHost;
use crate::token::AccessToken;

/// One session, if it is open here. Locked while the session is opened or closed.
pub(crate) type SessionCell = Arc<tokio::sync::Mutex<Option<Arc<HostedSession>>>>;

/// The state that all clients of one process share.
pub(crate) struct CopilotServer {
    pub(crate) host: Arc<dyn SessionHost>,
    /// The clients' base directory: they see only sessions created under the same one.
    pub(crate) base_dir: ClientBaseDir,
    token: Option<AccessToken>,
    cells: Mutex<HashMap<SessionId, SessionCell>>,
    closing: CancellationToken,
    /// Tasks that wait until a session without clients is idle.
    lingering: TaskTracker,
}

impl CopilotServer {
    pub(crate) fn new(session_host: Arc<dyn SessionHost>, token: Option<AccessToken>) -> CopilotServer {
        CopilotServer {
            base_dir: ClientBaseDir::from_variable(session_host.variable("COPILOT_HOME")),
            host: session_host,
            token,
            cells: Mutex::default(),
            closing: CancellationToken::new(),
            lingering: TaskTracker::new(),
        }
    }

    /// Whether clients must send a token first.
    pub(crate) fn requires_token(&self) -> bool {
        self.token.is_some()
    }

    /// Whether this token is right, or none is needed.
    pub(crate) fn accepts_token(&self, text: Option<&str>) -> bool {
        self.token.as_ref().is_none_or(|token| text.is_some_and(|text| token.matches(text.as_bytes())))
    }

    /// The cell of a session.
    pub(crate) fn cell(&self, id: SessionId) -> SessionCell {
        Arc::clone(self.lock_cells().entry(id).or_default())
    }

    /// Removes a client from a session. The server closes a session without clients once it is idle; until then the
    /// session keeps running, and clients can rejoin it.
    pub(crate) async fn client_left(self: &Arc<Self>, session: &Arc<HostedSession>, client: &Arc<SessionClient>) {
        if !session.is_busy() {
            // Close before removing the client, so that its hooks can still see the end of the session.
            self.close_if_unwatched(session, Some(client)).await;
        }
        session.clients.remove(client);
        if !session.is_busy() {
            return;
        }
        let (server, session) = (Arc::clone(self), Arc::clone(session));
        self.lingering.spawn(async move {
            tokio::select! {
                () = session.wait_until_quiet() => server.close_if_unwatched(&session, None).await,
                () = server.closing.cancelled() => {}
            }
        });
    }

    /// Closes a session unless a client other than `leaving` watches it.
    async fn close_if_unwatched(&self, session: &Arc<HostedSession>, leaving: Option<&Arc<SessionClient>>) {
        let cell = self.cell(session.id());
        let mut current = cell.lock().await;
        if session.clients.has_no_other_client(leaving)
            && current.as_ref().is_some_and(|hosted| Arc::ptr_eq(hosted, session))
        {
            *current = None;
            session.leave().await;
        }
    }

    /// Closes a session even if clients watch it.
    pub(crate) async fn evict(&self, id: SessionId) {
        let cell = self.lock_cells().get(&id).cloned();
        let Some(cell) = cell else { return };
        if let Some(session) = cell.lock().await.take() {
            session.leave().await;
        }
    }

    /// Ends the server after the current calls are answered.
    pub(crate) fn close(&self) {
        self.closing.cancel();
    }

    /// Waits until the server begins to close.
    pub(crate) async fn close_requested(&self) {
        self.closing.cancelled().await;
    }

    /// Closes every session: running work is interrupted and can be resumed.
    pub(crate) async fn shut_down(&self) {
        self.closing.cancel();
        self.lingering.close();
        self.lingering.wait().await;
        let ids: Vec<SessionId> = self.lock_cells().keys().copied().collect();
        for id in ids {
            self.evict(id).await;
        }
    }

    fn lock_cells(&self) -> MutexGuard<'_, HashMap<SessionId, SessionCell>> {
        self.cells.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
