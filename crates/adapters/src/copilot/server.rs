//! What the clients of one process share: where sessions are found, the token, and the sessions that are held.

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

/// Where one session is held, or not; whoever opens or leaves it has the lock.
pub(crate) type SessionSlot = Arc<tokio::sync::Mutex<Option<Arc<HostedSession>>>>;

/// What the clients of one process share.
pub(crate) struct CopilotServer {
    pub(crate) host: Arc<dyn SessionHost>,
    /// The base directory that its clients keep their sessions apart by.
    pub(crate) base_dir: ClientBaseDir,
    token: Option<AccessToken>,
    rooms: Mutex<HashMap<SessionId, SessionSlot>>,
    closing: CancellationToken,
    /// What waits for a session that nobody watches to come to rest.
    lingering: TaskTracker,
}

impl CopilotServer {
    pub(crate) fn new(session_host: Arc<dyn SessionHost>, token: Option<AccessToken>) -> CopilotServer {
        CopilotServer {
            base_dir: ClientBaseDir::from_variable(session_host.variable("COPILOT_HOME")),
            host: session_host,
            token,
            rooms: Mutex::default(),
            closing: CancellationToken::new(),
            lingering: TaskTracker::new(),
        }
    }

    /// Whether clients must show a token first.
    pub(crate) fn asks_for_token(&self) -> bool {
        self.token.is_some()
    }

    /// Whether this is the token, if there is one.
    pub(crate) fn accepts_token(&self, word: Option<&str>) -> bool {
        self.token.as_ref().is_none_or(|token| word.is_some_and(|word| token.matches(word.as_bytes())))
    }

    /// Where a session is held.
    pub(crate) fn slot(&self, id: SessionId) -> SessionSlot {
        Arc::clone(self.rooms().entry(id).or_default())
    }

    /// A client leaves a session. One that nobody watches any more is left as soon as it is at rest: until then it runs
    /// on, and can be come back to.
    pub(crate) async fn client_left(self: &Arc<Self>, held: &Arc<HostedSession>, member: &Arc<SessionClient>) {
        if !held.is_busy() {
            // The client is still there to be told by hooks that the session ends.
            self.retire(held, Some(member)).await;
        }
        held.clients.remove(member);
        if !held.is_busy() {
            return;
        }
        let (server, held) = (Arc::clone(self), Arc::clone(held));
        self.lingering.spawn(async move {
            tokio::select! {
                () = held.wait_until_quiet() => server.retire(&held, None).await,
                () = server.closing.cancelled() => {}
            }
        });
    }

    /// Leaves a session unless somebody else watches it.
    async fn retire(&self, held: &Arc<HostedSession>, last: Option<&Arc<SessionClient>>) {
        let room = self.slot(held.id());
        let mut place = room.lock().await;
        if held.clients.is_only(last) && place.as_ref().is_some_and(|there| Arc::ptr_eq(there, held)) {
            *place = None;
            held.leave().await;
        }
    }

    /// Leaves a session whoever watches it.
    pub(crate) async fn evict(&self, id: SessionId) {
        let room = self.rooms().get(&id).cloned();
        let Some(room) = room else { return };
        if let Some(held) = room.lock().await.take() {
            held.leave().await;
        }
    }

    /// Ends the server once what is being answered is answered.
    pub(crate) fn close(&self) {
        self.closing.cancel();
    }

    pub(crate) async fn closed(&self) {
        self.closing.cancelled().await;
    }

    /// Leaves every session: what runs is interrupted and can be resumed.
    pub(crate) async fn shut_down(&self) {
        self.closing.cancel();
        self.lingering.close();
        self.lingering.wait().await;
        let ids: Vec<SessionId> = self.rooms().keys().copied().collect();
        for id in ids {
            self.evict(id).await;
        }
    }

    fn rooms(&self) -> MutexGuard<'_, HashMap<SessionId, SessionSlot>> {
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
