//! The connection of one client: its messages are read in order, its calls start in that order and are answered as they
//! finish.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use protocol::SessionId;
use rpc::{Connection, ConnectionLimits, ErrorObject, FrameError, Framing, MalformedMessage, RpcMessage, RpcRequest};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use super::client_mcp_tokens::TOKEN_REQUIRED;
use super::client_session::{self, ClientSession};
use super::hosted_session::{ClientNotice, HostedSession};
use super::idle::IdleReport;
use super::methods;
use super::peer::ClientPeer;
use super::server::CopilotServer;
use super::session_names;

/// How many calls of one client may be in progress. More are refused instead of left unread: a response that a running
/// call waits for may come after them.
const MAX_CALLS: usize = 1024;

/// How long a client may take to send its token.
const TOKEN_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum bytes of one message, and of the queue to the client.
const LIMITS: ConnectionLimits =
    ConnectionLimits { max_frame_bytes: 32 << 20, max_queue_bytes: 64 << 20, ..ConnectionLimits::LOCAL };

/// The connection of one client.
pub(crate) struct CopilotConnection {
    server: Arc<CopilotServer>,
    peer: Arc<ClientPeer>,
    admitted: AtomicBool,
    /// Whether the client wants telemetry events.
    wants_telemetry: AtomicBool,
    sessions: Mutex<HashMap<SessionId, ClientSession>>,
    /// Fields of `connect` that have no effect.
    without_effect: Mutex<Vec<String>>,
}

impl CopilotConnection {
    pub(crate) fn server(&self) -> &Arc<CopilotServer> {
        &self.server
    }

    /// Whether the client's token was accepted.
    pub(crate) fn is_admitted(&self) -> bool {
        self.admitted.load(Ordering::Acquire)
    }

    /// Admits the client if its token is right.
    pub(crate) fn admit(&self, token: Option<&str>) -> Result<(), ErrorObject> {
        if !self.server.accepts_token(token) {
            return Err(ErrorObject::new(-32002, "AUTHENTICATION_FAILED"));
        }
        self.admitted.store(true, Ordering::Release);
        Ok(())
    }

    /// Sends the client telemetry events from now on.
    pub(crate) fn enable_telemetry(&self) {
        self.wants_telemetry.store(true, Ordering::Release);
    }

    /// Whether the client wants telemetry events.
    pub(crate) fn wants_telemetry(&self) -> bool {
        self.wants_telemetry.load(Ordering::Acquire)
    }

    /// Returns if the client has not sent its token in time, because the number of connections is limited. Otherwise
    /// never returns.
    async fn admission_expired(&self) {
        tokio::time::sleep(TOKEN_TIMEOUT).await;
        if self.is_admitted() {
            std::future::pending::<()>().await;
        }
    }

    /// Records which fields of `connect` have no effect.
    pub(crate) fn set_without_effect(&self, fields: Vec<String>) {
        *self.without_effect.lock().unwrap_or_else(PoisonError::into_inner) = fields;
    }

    /// What the client and its server were started with that has no effect.
    pub(crate) fn launch_notices(&self) -> Vec<ClientNotice> {
        let fields = self.without_effect.lock().unwrap_or_else(PoisonError::into_inner);
        let names = self.server.without_effect().iter().chain(&*fields);
        names.map(|name| ClientNotice::unsupported(format!("`{name}` is not supported and has no effect"))).collect()
    }

    /// The session that a call is about.
    pub(crate) fn session(&self, params: &Value) -> Result<Arc<HostedSession>, ErrorObject> {
        let name = params["sessionId"].as_str().ok_or_else(|| ErrorObject::bad_params("`sessionId` is missing"))?;
        let id = session_names::resolve_session(name);
        let session =
            id.and_then(|id| self.lock_sessions().get(&id).map(|client_session| Arc::clone(&client_session.session)));
        session.ok_or_else(|| client_session::session_not_found(name))
    }

    /// The idle reports of one of the client's sessions.
    pub(crate) fn idle_reports(&self, id: SessionId) -> Option<watch::Receiver<IdleReport>> {
        self.lock_sessions().get(&id).map(|session| session.idle_reports.clone())
    }

    pub(crate) fn peer(&self) -> Arc<ClientPeer> {
        Arc::clone(&self.peer)
    }

    pub(crate) fn add_session(&self, session: ClientSession) {
        self.lock_sessions().insert(session.session.id(), session);
    }

    /// Leaves a session; returns whether the client was in it.
    pub(crate) async fn leave_session(&self, id: SessionId) -> bool {
        let removed = self.lock_sessions().remove(&id);
        match removed {
            Some(ClientSession { session, session_client, .. }) => {
                if let Some(copy) = session.state_copy().filter(|copy| copy.state.provider.is_of(&self.peer))
                    && let Err(error) = copy.write_changes(&session).await
                {
                    tracing::warn!(error = %error.message, "the client left before its copy was complete");
                }
                session.client_tasks.client_left(&session, &self.peer).await;
                session.features.canvases.client_left(&self.peer);
                let interests = session.features.commands.client_left(&self.peer.connection_id());
                for _supplier in interests.iter().filter(|event| *event == TOKEN_REQUIRED) {
                    // Otherwise a request would wait for a token that nobody supplies.
                    session.tool_calls.mcp_tokens.release_interest();
                }
                self.server.client_left(&session, &session_client).await;
                if !session.clients.can_show_forms() {
                    session.features.forms.abandon_all();
                }
                true
            }
            None => false,
        }
    }

    async fn leave_all(&self) {
        let ids: Vec<SessionId> = self.lock_sessions().keys().copied().collect();
        for id in ids {
            self.leave_session(id).await;
        }
    }

    fn lock_sessions(&self) -> MutexGuard<'_, HashMap<SessionId, ClientSession>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Serves a client until it leaves, sends an invalid frame, or the server closes.
pub(crate) async fn serve_client<R, W>(server: Arc<CopilotServer>, input: R, output: W)
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let mut connection = Connection::new(input, output, Framing::ContentLength, LIMITS);
    let peer = Arc::new(ClientPeer::new(connection.outbox().clone()));
    let admitted = AtomicBool::new(!server.requires_token());
    let client = Arc::new(CopilotConnection {
        server,
        peer,
        admitted,
        wants_telemetry: AtomicBool::new(false),
        sessions: Mutex::default(),
        without_effect: Mutex::default(),
    });
    let mut calls = JoinSet::new();
    let is_closing = tokio::select! {
        () = read_messages(&client, &mut connection, &mut calls) => false,
        () = client.server.close_requested() => true,
        () = client.admission_expired() => {
            connection.outbox().close(ErrorObject::invalid("no token was sent in time"));
            false
        }
    };
    client.peer.close();
    let unfinished = async { while calls.join_next().await.is_some() {} };
    // After the grace period, unfinished calls are dropped.
    tokio::time::timeout(LIMITS.grace, unfinished).await.ok();
    calls.shutdown().await;
    client.leave_all().await;
    client.server.inference.client_left(&client.peer);
    client.server.state_client_left(&client.peer);
    if is_closing {
        // Wait, because a client drops its pending calls at the end of the stream, even if the answer came just before.
        tokio::time::timeout(CLOSE_GRACE, refuse_late_calls(&client, &mut connection)).await.ok();
    }
    connection.close().await;
}

/// How long a client may take to leave a closing server.
const CLOSE_GRACE: Duration = Duration::from_secs(1);

/// Waits until the client leaves, and refuses its calls.
async fn refuse_late_calls<R: AsyncRead + Unpin>(client: &CopilotConnection, connection: &mut Connection<R>) {
    while let Ok(Some(late)) = connection.next().await {
        if let Ok(RpcMessage::Request(RpcRequest { id, .. })) = late {
            client.peer.respond(Some(id), Err(ErrorObject::internal("the server is shutting down"))).await;
        }
    }
}

async fn read_messages<R>(client: &Arc<CopilotConnection>, connection: &mut Connection<R>, calls: &mut JoinSet<()>)
where
    R: AsyncRead + Unpin,
{
    let capacity = Arc::new(Semaphore::new(MAX_CALLS));
    loop {
        match connection.next().await {
            Ok(Some(Ok(RpcMessage::Request(request)))) => {
                while calls.try_join_next().is_some() {}
                let Ok(permit) = Arc::clone(&capacity).try_acquire_owned() else {
                    let why = format!("{MAX_CALLS} calls are in progress: wait for an answer");
                    client.peer.respond(Some(request.id), Err(ErrorObject::internal(why))).await;
                    continue;
                };
                let answer = start_call(Arc::clone(client), request).await;
                calls.spawn(async move {
                    answer.await;
                    drop(permit);
                });
            }
            // No supported method is a notification.
            Ok(Some(Ok(RpcMessage::Notification(_)))) => {}
            Ok(Some(Ok(RpcMessage::Response(response)))) => client.peer.receive_response(response),
            Ok(Some(Err(MalformedMessage { id, error }))) => client.peer.respond(id, Err(error)).await,
            Ok(None) | Err(FrameError::Truncated | FrameError::Io(_)) => return,
            Err(error @ (FrameError::TooLarge { .. } | FrameError::Header(_))) => {
                return connection.outbox().close(ErrorObject::invalid(error.to_string()));
            }
        }
    }
}

/// Starts a call and polls it once before the next message is read, so that a client's calls reach its session in
/// order.
async fn start_call(connection: Arc<CopilotConnection>, request: RpcRequest) -> impl Future<Output = ()> + Send {
    let mut answer = Box::pin(async move {
        let RpcRequest { id, method, params } = request;
        let outcome = methods::call(&connection, &method, params).await;
        connection.peer.respond(Some(id), outcome).await;
    });
    let mut done = std::future::poll_fn(|cx| Poll::Ready(answer.as_mut().poll(cx).is_ready())).await;
    async move {
        if !std::mem::replace(&mut done, true) {
            answer.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use host::Home;
    use tokio::io::AsyncReadExt;

    use super::*;
    use server::{OpenRefusal, OpenRequest, OpenSessionFuture, SessionHost, SessionOpener};

    struct EmptySessionOpener(Home);

    impl SessionOpener for EmptySessionOpener {
        fn home(&self) -> &Home {
            &self.0
        }

        fn open(&self, _request: OpenRequest) -> OpenSessionFuture<'_> {
            Box::pin(async { Err(OpenRefusal { words: "there is none".into(), hint: None }) })
        }
    }

    #[tokio::test(start_paused = true)]
    async fn clients_without_a_token_are_disconnected() {
        let folder = tempfile::tempdir().unwrap();
        let opener = Arc::new(EmptySessionOpener(Home::open(folder.path().to_owned()).unwrap()));
        let sessions = SessionHost::new(opener, usize::MAX);
        let server = Arc::new(CopilotServer::new(
            sessions,
            Some(crate::token::AccessToken::from_text("0123456789")),
            Vec::new(),
        ));
        let (client, adapter) = tokio::io::duplex(1 << 16);
        let (input, output) = tokio::io::split(adapter);
        let (mut reading, _writing) = tokio::io::split(client);
        let mut received = String::new();
        let receiving = async { reading.read_to_string(&mut received).await.unwrap() };
        tokio::join!(serve_client(server, input, output), receiving);
        assert!(received.contains("no token was sent in time"), "{received}");
    }
}
