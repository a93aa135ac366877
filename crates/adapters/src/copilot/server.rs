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

/// The slot of one session, which may be empty. It is locked while the session is opened or left.
pub(crate) type SessionSlot = Arc<tokio::sync::Mutex<Option<Arc<HostedSession>>>>;

/// The state that all clients of one process share.
pub(crate) struct CopilotServer {
    pub(crate) host: Arc<dyn SessionHost>,
    /// The base directory that separates its clients' sessions.
    pub(crate) base_dir: ClientBaseDir,
    token: Option<AccessToken>,
    slots: Mutex<HashMap<SessionId, SessionSlot>>,
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
            slots: Mutex::default(),
            closing: CancellationToken::new(),
            lingering: TaskTracker::new(),
        }
    }

    /// Whether clients must send a token first.
    pub(crate) fn asks_for_token(&self) -> bool {
        self.token.is_some()
    }

    /// Whether this token is right, or none is needed.
    pub(crate) fn accepts_token(&self, text: Option<&str>) -> bool {
        self.token.as_ref().is_none_or(|token| text.is_some_and(|text| token.matches(text.as_bytes())))
    }

    /// The slot of a session.
    pub(crate) fn slot(&self, id: SessionId) -> SessionSlot {
        Arc::clone(self.lock_slots().entry(id).or_default())
    }

    /// Removes a client from a session. A session without clients is left as soon as it is idle; until then it runs on,
    /// and clients can rejoin it.
    pub(crate) async fn client_left(self: &Arc<Self>, session: &Arc<HostedSession>, client: &Arc<SessionClient>) {
        if !session.is_busy() {
            // Before the client is removed, so that its hooks can still see the end of the session.
            self.retire(session, Some(client)).await;
        }
        session.clients.remove(client);
        if !session.is_busy() {
            return;
        }
        let (server, session) = (Arc::clone(self), Arc::clone(session));
        self.lingering.spawn(async move {
            tokio::select! {
                () = session.wait_until_quiet() => server.retire(&session, None).await,
                () = server.closing.cancelled() => {}
            }
        });
    }

    /// Leaves a session unless another client watches it.
    async fn retire(&self, session: &Arc<HostedSession>, last: Option<&Arc<SessionClient>>) {
        let slot = self.slot(session.id());
        let mut current = slot.lock().await;
        if session.clients.is_only(last) && current.as_ref().is_some_and(|hosted| Arc::ptr_eq(hosted, session)) {
            *current = None;
            session.leave().await;
        }
    }

    /// Leaves a session even if clients watch it.
    pub(crate) async fn evict(&self, id: SessionId) {
        let slot = self.lock_slots().get(&id).cloned();
        let Some(slot) = slot else { return };
        if let Some(session) = slot.lock().await.take() {
            session.leave().await;
        }
    }

    /// Ends the server after the current calls are answered.
    pub(crate) fn close(&self) {
        self.closing.cancel();
    }

    pub(crate) async fn closed(&self) {
        self.closing.cancelled().await;
    }

    /// Leaves every session: running work is interrupted and can be resumed.
    pub(crate) async fn shut_down(&self) {
        self.closing.cancel();
        self.lingering.close();
        self.lingering.wait().await;
        let ids: Vec<SessionId> = self.lock_slots().keys().copied().collect();
        for id in ids {
            self.evict(id).await;
        }
    }

    fn lock_slots(&self) -> MutexGuard<'_, HashMap<SessionId, SessionSlot>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
