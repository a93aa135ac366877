//! The listening socket and its connections.

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use server::SessionHost;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio_util::task::TaskTracker;

use super::adapter::HttpAdapter;
use super::connection_slots::{ConnectionSlot, ConnectionSlots};
use super::relay::EventRelays;
use super::server_context::{self, HttpResponder, HttpServerContext};
use super::stream_end::StreamEnd;
use super::write_timeout::WriteTimeoutStream;
use super::{AccessToken, HttpLimits};

/// Maximum number of headers of a request.
const MAX_HEADERS: usize = 64;

/// Maximum threads for blocking work, such as listing sessions.
const BLOCKING_THREADS: usize = 4;

/// Pause after accepting a connection failed, for example because there are no more descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A socket on loopback that does not serve yet.
#[derive(Debug)]
pub struct HttpListener {
    socket: TcpListener,
    address: SocketAddr,
}

impl HttpListener {
    /// Listens on a loopback port; 0 selects any free port.
    pub async fn bind(port: u16) -> io::Result<HttpListener> {
        let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let address = socket.local_addr()?;
        Ok(HttpListener { socket, address })
    }

    /// The port it listens on.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// The URL it listens on.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Serves clients until `end` completes, then closes every session that the host holds; they can be resumed. The
    /// result of `end` tells clients that follow events whether to expect more.
    ///
    /// Clients are served by a separate thread, so that no session waits for them, no matter how many watch.
    pub async fn serve(
        self,
        sessions: Arc<SessionHost>,
        token: AccessToken,
        limits: HttpLimits,
        end: impl Future<Output = StreamEnd>,
    ) -> io::Result<()> {
        let grace = limits.grace;
        let context = HttpServerContext::new(token, self.address.port(), limits);
        let closing = context.closing.clone();
        let adapter = HttpAdapter { context, sessions: Arc::clone(&sessions), relays: EventRelays::default() };
        let mut served = serve_clients(self, Arc::new(adapter))?;
        let failed = tokio::select! {
            stream_end = end => {
                closing.close(stream_end);
                false
            }
            _early = &mut served => true,
        };
        closing.close(StreamEnd::Complete);
        let shutdown = async {
            sessions.shut_down().await;
            if !failed {
                // Nothing is ever sent: the channel closes when the thread ends.
                let _ended = served.await;
            }
        };
        if tokio::time::timeout(grace, shutdown).await.is_err() {
            tracing::warn!("the server ended before all connections and sessions were closed");
        }
        if failed { Err(io::Error::other("the server can no longer serve clients; see the log")) } else { Ok(()) }
    }
}

/// Serves clients on a separate thread until the responder closes and they have left. The returned channel closes then.
pub(crate) fn serve_clients<R: HttpResponder>(
    listener: HttpListener,
    responder: Arc<R>,
) -> io::Result<oneshot::Receiver<()>> {
    let socket = listener.socket.into_std()?;
    let runtime = Builder::new_current_thread().enable_all().max_blocking_threads(BLOCKING_THREADS).build()?;
    let (ending, ended) = oneshot::channel::<()>();
    thread::Builder::new().name("http".into()).spawn(move || {
        runtime.block_on(async {
            let connections = TaskTracker::new();
            let accepting = async {
                match TcpListener::from_std(socket) {
                    Ok(socket) => accept_connections(&socket, &responder, &connections).await,
                    Err(error) => tracing::error!(%error, "cannot serve clients"),
                }
            };
            tokio::select! {
                () = accepting => {}
                () = responder.context().closing.closed() => {}
            }
            connections.close();
            connections.wait().await;
        });
        drop(ending);
    })?;
    Ok(ended)
}

async fn accept_connections<R: HttpResponder>(socket: &TcpListener, responder: &Arc<R>, connections: &TaskTracker) {
    let limits = &responder.context().limits;
    let slots = ConnectionSlots::new(limits.connections, limits.unauthenticated);
    for number in 0.. {
        match socket.accept().await {
            Ok((stream, _)) => {
                connections.spawn(serve_connection(stream, Arc::clone(responder), slots.add(number)));
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Serves one connection until its client leaves, breaks a limit, or the responder closes.
async fn serve_connection<R: HttpResponder>(stream: TcpStream, responder: Arc<R>, slot: ConnectionSlot) {
    // Responses are small, and clients wait for them.
    stream.set_nodelay(true).ok();
    let limits = responder.context().limits.clone();
    let stream = TokioIo::new(WriteTimeoutStream::new(stream, limits.write_time));
    let closing = responder.context().closing.clone();
    let slot = Arc::new(slot);
    let slot_for_requests = Arc::clone(&slot);
    let mut settings = http1::Builder::new();
    settings
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_time)
        .max_buf_size(limits.max_head_bytes)
        .max_headers(MAX_HEADERS);
    let service = service_fn(move |request| {
        let (responder, slot) = (Arc::clone(&responder), Arc::clone(&slot_for_requests));
        async move { Ok::<_, Infallible>(server_context::respond(&*responder, request, &slot).await) }
    });
    let connection = settings.serve_connection(stream, service);
    tokio::pin!(connection);
    let outcome = tokio::select! {
        outcome = connection.as_mut() => outcome,
        () = admission_expired(&slot, limits.admission_time) => return,
        () = closing.closed() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = outcome {
        tracing::debug!(%error, "a connection ended");
    }
}

/// Returns when a connection that has not sent the token runs out of time, or must give way to another. Never returns
/// for a connection that has sent it.
async fn admission_expired(slot: &ConnectionSlot, time: Duration) {
    tokio::select! {
        () = tokio::time::sleep(time) => {}
        () = slot.evicted() => {}
    }
    if slot.is_admitted() {
        std::future::pending::<()>().await;
    }
}
