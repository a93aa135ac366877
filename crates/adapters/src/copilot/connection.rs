//! One client's stay: its messages are read in order, its calls begin in that order and are answered as they end.

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

use super::client_session::{self, ClientSession};
use super::hosted_session::HostedSession;
use super::idle::IdleReport;
use super::methods;
use super::peer::ClientPeer;
use super::server::CopilotServer;
use super::session_names;

/// How many calls of one client may be under way. More are refused, and not left unread: an answer that one of those
/// under way waits for may stand behind them.
const MAX_CALLS: usize = 1024;

/// How long a client may take to show its token.
const ADMISSION: Duration = Duration::from_secs(10);

/// Most bytes of one message, and of what waits to be read.
const LIMITS: ConnectionLimits = ConnectionLimits { frame: 32 << 20, queue: 64 << 20, ..ConnectionLimits::LOCAL };

/// One client.
pub(crate) struct CopilotConnection {
    server: Arc<CopilotServer>,
    peer: Arc<ClientPeer>,
    admitted: AtomicBool,
    stays: Mutex<HashMap<SessionId, ClientSession>>,
}

impl CopilotConnection {
    pub(crate) fn server(&self) -> &Arc<CopilotServer> {
        &self.server
    }

    /// Whether the client may call anything.
    pub(crate) fn is_admitted(&self) -> bool {
        self.admitted.load(Ordering::Acquire)
    }

    /// Lets the client in if its token is right.
    pub(crate) fn admit(&self, token: Option<&str>) -> Result<(), ErrorObject> {
        if !self.server.accepts_token(token) {
            return Err(ErrorObject::new(-32002, "AUTHENTICATION_FAILED"));
        }
        self.admitted.store(true, Ordering::Release);
        Ok(())
    }

    /// Waits until the client has had its time to show a token, and has shown none: places are few.
    async fn admission_expired(&self) {
        tokio::time::sleep(ADMISSION).await;
        if self.is_admitted() {
            std::future::pending::<()>().await;
        }
    }

    /// The session that a call is about.
    pub(crate) fn session(&self, params: &Value) -> Result<Arc<HostedSession>, ErrorObject> {
        let named = params["sessionId"].as_str().ok_or_else(|| ErrorObject::bad_params("`sessionId` is missing"))?;
        let id = session_names::resolve_session(named);
        let held = id.and_then(|id| self.stays().get(&id).map(|stay| Arc::clone(&stay.session)));
        held.ok_or_else(|| client_session::session_not_found(named))
    }

    /// How a session of the client's came to rest last, as it changes.
    pub(crate) fn idle_reports(&self, id: SessionId) -> Option<watch::Receiver<IdleReport>> {
        self.stays().get(&id).map(|stay| stay.idle.clone())
    }

    pub(crate) fn peer(&self) -> Arc<ClientPeer> {
        Arc::clone(&self.peer)
    }

    pub(crate) fn add_session(&self, stay: ClientSession) {
        self.stays().insert(stay.session.id(), stay);
    }

    /// Leaves a session; says whether the client was there.
    pub(crate) async fn leave_session(&self, id: SessionId) -> bool {
        let stay = self.stays().remove(&id);
        match stay {
            Some(ClientSession { session: held, member, .. }) => {
                held.client_tasks.client_left(&held, &self.peer).await;
                self.server.client_left(&held, &member).await;
                true
            }
            None => false,
        }
    }

    async fn leave_all(&self) {
        let ids: Vec<SessionId> = self.stays().keys().copied().collect();
        for id in ids {
            self.leave_session(id).await;
        }
    }

    fn stays(&self) -> MutexGuard<'_, HashMap<SessionId, ClientSession>> {
        self.stays.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Receives a client until it leaves, breaks the frame, or the server closes.
pub(crate) async fn serve_client<R, W>(server: Arc<CopilotServer>, input: R, output: W)
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let mut connection = Connection::new(input, output, Framing::ContentLength, LIMITS);
    let peer = Arc::new(ClientPeer::new(connection.outbox().clone()));
    let admitted = AtomicBool::new(!server.asks_for_token());
    let visit = Arc::new(CopilotConnection { server, peer, admitted, stays: Mutex::default() });
    let mut calls = JoinSet::new();
    let is_closing = tokio::select! {
        () = read_messages(&visit, &mut connection, &mut calls) => false,
        () = visit.server.closed() => true,
        () = visit.admission_expired() => {
            connection.outbox().close(ErrorObject::invalid("no token came in time"));
            false
        }
    };
    visit.peer.close();
    let unfinished = async { while calls.join_next().await.is_some() {} };
    // Past the grace, calls under way are dropped.
    tokio::time::timeout(LIMITS.grace, unfinished).await.ok();
    calls.shutdown().await;
    visit.leave_all().await;
    if is_closing {
        // A client that sees the end of the stream gives up what it waits for, even if the answer came just before.
        tokio::time::timeout(CLOSE_GRACE, drain(&mut connection)).await.ok();
    }
    connection.close().await;
}

/// How long a client may take to leave a server that closes.
const CLOSE_GRACE: Duration = Duration::from_secs(1);

/// Waits until the client leaves. What it says meanwhile comes too late.
async fn drain<R: AsyncRead + Unpin>(connection: &mut Connection<R>) {
    while let Ok(Some(_late)) = connection.next().await {}
}

async fn read_messages<R>(visit: &Arc<CopilotConnection>, connection: &mut Connection<R>, calls: &mut JoinSet<()>)
where
    R: AsyncRead + Unpin,
{
    let room = Arc::new(Semaphore::new(MAX_CALLS));
    loop {
        match connection.next().await {
            Ok(Some(Ok(RpcMessage::Request(request)))) => {
                while calls.try_join_next().is_some() {}
                let Ok(room) = Arc::clone(&room).try_acquire_owned() else {
                    let why = format!("{MAX_CALLS} calls are under way: wait for an answer");
                    visit.peer.respond(Some(request.id), Err(ErrorObject::internal(why))).await;
                    continue;
                };
                let answering = start_call(Arc::clone(visit), request).await;
                calls.spawn(async move {
                    answering.await;
                    drop(room);
                });
            }
            // Nothing that is served wants no answer.
            Ok(Some(Ok(RpcMessage::Notification(_)))) => {}
            Ok(Some(Ok(RpcMessage::Response(response)))) => visit.peer.receive_response(response),
            Ok(Some(Err(MalformedMessage { id, error }))) => visit.peer.respond(id, Err(error)).await,
            Ok(None) | Err(FrameError::Truncated | FrameError::Io(_)) => return,
            Err(error @ (FrameError::TooLarge { .. } | FrameError::Header(_))) => {
                return connection.outbox().close(ErrorObject::invalid(error.to_string()));
            }
        }
    }
}

/// Begins a call: as far as it gets without waiting before the next message is read, so that what a client asks in
/// order reaches its session in order.
async fn start_call(visit: Arc<CopilotConnection>, request: RpcRequest) -> impl Future<Output = ()> + Send {
    let mut answering = Box::pin(async move {
        let RpcRequest { id, method, params } = request;
        let outcome = methods::call(&visit, &method, params).await;
        visit.peer.respond(Some(id), outcome).await;
    });
    let mut done = std::future::poll_fn(|cx| Poll::Ready(answering.as_mut().poll(cx).is_ready())).await;
    async move {
        if !std::mem::replace(&mut done, true) {
            answering.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use host::Home;
    use tokio::io::AsyncReadExt;

    use super::*;
    use crate::{OpenRefusal, OpenRequest, OpenSessionFuture, SessionHost};

    struct Empty(Home);

    impl SessionHost for Empty {
        fn home(&self) -> &Home {
            &self.0
        }

        fn open(&self, _order: OpenRequest) -> OpenSessionFuture<'_> {
            Box::pin(async { Err(OpenRefusal { words: "there is none".into(), hint: None }) })
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_shows_no_token_is_sent_away() {
        let folder = tempfile::tempdir().unwrap();
        let session_host = Arc::new(Empty(Home::open(folder.path().to_owned()).unwrap()));
        let server =
            Arc::new(CopilotServer::new(session_host, Some(crate::token::AccessToken::from_any("0123456789"))));
        let (client, adapter) = tokio::io::duplex(1 << 16);
        let (input, output) = tokio::io::split(adapter);
        let (mut reading, _writing) = tokio::io::split(client);
        let mut said = String::new();
        let hearing = async { reading.read_to_string(&mut said).await.unwrap() };
        tokio::join!(serve_client(server, input, output), hearing);
        assert!(said.contains("no token came in time"), "{said}");
    }
}
