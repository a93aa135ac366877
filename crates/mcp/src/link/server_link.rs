//! Requests to one server.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use protocol::{McpProgress, McpRemoteTask, clip_middle};
use serde_json::{Map, Value, json};
use tokio::sync::{Mutex as AsyncMutex, Notify, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::elicitation::McpElicitor;
use crate::followed_task::TaskSignals;
use crate::revision;
use crate::wire::{self, McpResponse};
use crate::{McpError, McpOptions, McpRevision, McpTransport, TransportError, server};

/// Maximum bytes of a transport's error message.
const MAX_ERROR_BYTES: usize = 2500;

/// How long a server that does not read may delay a cancellation.
const CANCEL_WAIT: Duration = Duration::from_secs(1);

/// The requests to one server.
#[derive(Debug)]
pub(crate) struct ServerLink {
    pub(crate) server: String,
    pub(crate) transport: Arc<dyn McpTransport>,
    pub(crate) options: McpOptions,
    revision: OnceLock<McpRevision>,
    next_id: AtomicU64,
    /// The requests that the server has not answered.
    pub(super) open: Mutex<BTreeMap<u64, OpenRequest>>,
    /// The tasks of the server that are followed.
    pub(super) followed: Mutex<BTreeMap<u64, FollowedSignals>>,
    /// How often the server reported that its tools changed.
    pub(super) tool_changes: AtomicU64,
    /// The number of sessions that have begun; held while another one begins.
    sessions: AsyncMutex<u64>,
    /// Told when another session has begun.
    pub(crate) session_begun: Notify,
    /// Messages that are sent in the background.
    pub(super) background: Mutex<JoinSet<()>>,
}

/// A request that the server has not answered.
#[derive(Debug)]
pub(super) struct OpenRequest {
    /// By which the server names it in progress notifications.
    pub(super) progress_token: Option<String>,
    pub(super) progress: watch::Sender<Option<McpProgress>>,
    pub(super) elicitor: Option<Arc<dyn McpElicitor>>,
    /// Dropped with the request, which ends the questions that belong to it.
    pub(super) alive: watch::Sender<()>,
}

/// What the server says of a task by itself, and how it names the task.
#[derive(Debug)]
pub(super) struct FollowedSignals {
    pub(super) id: String,
    pub(super) progress_token: String,
    pub(super) signals: Arc<TaskSignals>,
}

/// A request to a server.
#[derive(Debug, Clone)]
pub(crate) struct ServerRequest {
    pub(crate) method: &'static str,
    pub(crate) params: Map<String, Value>,
    pub(crate) time_limit: Duration,
    /// Who answers the questions that the server asks meanwhile.
    pub(crate) elicitor: Option<Arc<dyn McpElicitor>>,
    /// Gets the progress that the server reports.
    pub(crate) progress: watch::Sender<Option<McpProgress>>,
}

impl ServerRequest {
    /// A request during which the server has nothing to ask.
    pub(crate) fn new(method: &'static str, params: Map<String, Value>, time_limit: Duration) -> ServerRequest {
        ServerRequest { method, params, time_limit, elicitor: None, progress: watch::Sender::default() }
    }
}

impl ServerLink {
    pub(crate) fn new(server: &str, transport: Arc<dyn McpTransport>, options: McpOptions) -> ServerLink {
        ServerLink {
            server: server.to_owned(),
            transport,
            options,
            revision: OnceLock::new(),
            next_id: AtomicU64::new(1),
            open: Mutex::default(),
            followed: Mutex::default(),
            tool_changes: AtomicU64::new(0),
            sessions: AsyncMutex::new(0),
            session_begun: Notify::new(),
            background: Mutex::default(),
        }
    }

    /// The negotiated revision; that with a handshake until it is known.
    pub(crate) fn revision(&self) -> McpRevision {
        self.revision.get().copied().unwrap_or(McpRevision::Session)
    }

    pub(crate) fn use_revision(&self, revision: McpRevision, version: &str) {
        // It is negotiated once.
        let _negotiated = self.revision.set(revision);
        self.transport.negotiated(revision, version);
    }

    /// How often the server reported that its tools changed.
    pub(crate) fn tool_changes(&self) -> u64 {
        self.tool_changes.load(Ordering::Relaxed)
    }

    /// Sends a request and waits for its result. A request that takes too long, or whose future is dropped, is
    /// cancelled at the server. If the server has ended the session, the request is made in a new one: it was not read.
    pub(crate) async fn request(&self, request: ServerRequest) -> Result<Map<String, Value>, McpError> {
        let session = *self.sessions.lock().await;
        match self.request_in_session(request.clone()).await {
            Err(SessionRequestError::SessionExpired) => {
                self.begin_another_session(session).await?;
                self.request_in_session(request).await.map_err(|error| self.described(error))
            }
            result => result.map_err(|error| self.described(error)),
        }
    }

    /// Begins a session after this one, unless that has happened meanwhile.
    async fn begin_another_session(&self, expired: u64) -> Result<(), McpError> {
        let mut sessions = self.sessions.lock().await;
        if *sessions == expired {
            server::initialize(self).await?;
            *sessions += 1;
            self.session_begun.notify_one();
            // The tools may be others now.
            self.tool_changes.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Sends the request that begins a session.
    pub(crate) async fn request_session(&self, request: ServerRequest) -> Result<Map<String, Value>, McpError> {
        self.request_in_session(request).await.map_err(|error| self.described(error))
    }

    fn described(&self, error: SessionRequestError) -> McpError {
        match error {
            SessionRequestError::SessionExpired => self.unreachable(&TransportError::SessionExpired.to_string()),
            SessionRequestError::Failed(error) => error,
        }
    }

    async fn request_in_session(&self, request: ServerRequest) -> Result<Map<String, Value>, SessionRequestError> {
        let ServerRequest { method, mut params, time_limit, elicitor, progress } = request;
        if self.revision() == McpRevision::Stateless {
            revision::add_stateless_meta(&mut params, &self.options);
        }
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let progress_token = params.get("_meta").and_then(|meta| meta["progressToken"].as_str()).map(str::to_owned);
        let open =
            OpenRequest { progress_token, progress: progress.clone(), elicitor, alive: watch::Sender::default() };
        lock(&self.open).insert(id, open);
        let mut pending = PendingRequest { link: self, id, cancels: true };
        let sent = timeout(time_limit, self.transport.send(wire::request(id, method, Value::Object(params)))).await;
        pending.cancels = false;
        lock(&self.open).remove(&id);
        let Ok(sent) = sent else {
            let progress = progress.borrow().as_ref().map(McpProgress::to_string);
            self.send_in_time(cancelled_message(id, "timed out"), CANCEL_WAIT).await;
            let server = self.server.clone();
            return Err(McpError::TimedOut { server, method, after: time_limit, progress }.into());
        };
        match wire::read_response(id, sent.map_err(|error| self.not_sent(error))?) {
            McpResponse::Result(result) => Ok(result),
            McpResponse::Error { code, message } => {
                Err(McpError::Refused { server: self.server.clone(), method, code, message }.into())
            }
            McpResponse::Malformed(what) => Err(self.malformed(method, what).into()),
        }
    }

    fn not_sent(&self, error: TransportError) -> SessionRequestError {
        match error {
            TransportError::SessionExpired => SessionRequestError::SessionExpired,
            TransportError::Access(why) => McpError::NoAccess { server: self.server.clone(), why }.into(),
            TransportError::Failed(why) => self.unreachable(&why).into(),
        }
    }

    /// Sends a notification.
    pub(crate) async fn notify(&self, method: &'static str, time_limit: Duration) -> Result<(), McpError> {
        match timeout(time_limit, self.transport.send(wire::notification(method, json!({})))).await {
            Ok(Ok(_anything)) => Ok(()),
            Ok(Err(error)) => Err(self.described(self.not_sent(error))),
            Err(_elapsed) => {
                let server = self.server.clone();
                Err(McpError::TimedOut { server, method, after: time_limit, progress: None })
            }
        }
    }

    /// Passes on what the server says of a task by itself; returns the key to end that.
    pub(crate) fn follow(&self, task: &McpRemoteTask, signals: Arc<TaskSignals>) -> u64 {
        let McpRemoteTask { id, progress_token, .. } = task.clone();
        let key = self.next_id.fetch_add(1, Ordering::Relaxed);
        lock(&self.followed).insert(key, FollowedSignals { id, progress_token, signals });
        key
    }

    pub(crate) fn unfollow(&self, key: u64) {
        lock(&self.followed).remove(&key);
    }

    pub(super) fn send_in_background(&self, message: Value, time_limit: Duration) {
        let transport = Arc::clone(&self.transport);
        let mut background = lock(&self.background);
        while background.try_join_next().is_some() {}
        background.spawn(async move {
            if !matches!(timeout(time_limit, transport.send(message)).await, Ok(Ok(_))) {
                tracing::debug!("cannot send a message to an MCP server");
            }
        });
    }

    pub(super) async fn send_in_time(&self, message: Value, time_limit: Duration) {
        if !matches!(timeout(time_limit, self.transport.send(message)).await, Ok(Ok(_))) {
            tracing::debug!(server = self.server, "cannot send a message to an MCP server");
        }
    }

    pub(crate) fn unreachable(&self, why: &str) -> McpError {
        McpError::Unreachable { server: self.server.clone(), why: clip_middle(why, MAX_ERROR_BYTES) }
    }

    pub(crate) fn malformed(&self, method: &'static str, what: impl Into<String>) -> McpError {
        McpError::Malformed { server: self.server.clone(), method, what: what.into() }
    }
}

/// Why a request has no result.
enum SessionRequestError {
    /// The server did not read it, since its session is over.
    SessionExpired,
    Failed(McpError),
}

impl From<McpError> for SessionRequestError {
    fn from(error: McpError) -> SessionRequestError {
        SessionRequestError::Failed(error)
    }
}

/// Cancels a request when its caller stops waiting.
struct PendingRequest<'a> {
    link: &'a ServerLink,
    id: u64,
    cancels: bool,
}

impl Drop for PendingRequest<'_> {
    fn drop(&mut self) {
        if self.cancels {
            lock(&self.link.open).remove(&self.id);
            self.link.send_in_background(cancelled_message(self.id, "cancelled"), CANCEL_WAIT);
        }
    }
}

fn cancelled_message(id: u64, reason: &str) -> Value {
    wire::notification("notifications/cancelled", json!({ "requestId": id, "reason": reason }))
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
