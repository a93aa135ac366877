//! The socket: who may connect, how many, and how they are sent away.

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::sync::{Semaphore, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::access_guard::AccessGuard;
use super::adapter::HttpAdapter;
use super::connection_slots::{ConnectionSlot, ConnectionSlots};
use super::relay::EventRelays;
use super::running_sessions::RunningSessions;
use super::write_timeout::WriteTimeoutStream;
use super::{AccessToken, HttpLimits};
use crate::SessionHost;

/// Most headers of a request.
const HEADERS: usize = 64;

/// Most threads for what blocks, such as lists of sessions.
const BLOCKING_THREADS: usize = 4;

/// How long to wait when the machine has no more descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// A socket on loopback that nobody is served on yet.
#[derive(Debug)]
pub struct HttpListener {
    socket: TcpListener,
    address: SocketAddr,
}

impl HttpListener {
    /// Listens on a port of loopback; any that is free with 0.
    pub async fn bind(port: u16) -> io::Result<HttpListener> {
        let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let address = socket.local_addr()?;
        Ok(HttpListener { socket, address })
    }

    /// Where it listens.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Serves whoever comes until `end`. Then every session that runs here is left, and can be resumed.
    ///
    /// Clients are served by a thread of their own: however many of them watch, no session waits for them.
    pub async fn serve(
        self,
        session_host: Arc<dyn SessionHost>,
        token: AccessToken,
        limits: HttpLimits,
        end: impl Future<Output = ()>,
    ) -> io::Result<()> {
        let closing = CancellationToken::new();
        let hall = Arc::new(RunningSessions::new(session_host, limits.sessions, closing.clone()));
        let adapter = Arc::new(HttpAdapter {
            guard: AccessGuard::new(token, self.address.port()),
            sessions: Arc::clone(&hall),
            streams: Arc::new(Semaphore::new(limits.streams)),
            relays: EventRelays::default(),
            limits: limits.clone(),
            closing: closing.clone(),
        });
        let mut served = serve_clients(self.socket.into_std()?, adapter)?;
        let is_broken = tokio::select! {
            () = end => false,
            _early = &mut served => true,
        };
        closing.cancel();
        let over = async {
            hall.wait_until_empty().await;
            if !is_broken {
                // Nothing is ever sent: it ends with the thread.
                let _ended = served.await;
            }
        };
        if tokio::time::timeout(limits.grace, over).await.is_err() {
            tracing::warn!("the server ended before everybody had left");
        }
        if is_broken { Err(io::Error::other("clients cannot be served any more; see the log")) } else { Ok(()) }
    }
}

/// Serves clients on a thread of their own until the adapter closes and they have left. What is given ends then.
fn serve_clients(socket: std::net::TcpListener, adapter: Arc<HttpAdapter>) -> io::Result<oneshot::Receiver<()>> {
    let runtime = Builder::new_current_thread().enable_all().max_blocking_threads(BLOCKING_THREADS).build()?;
    let (ending, ended) = oneshot::channel::<()>();
    thread::Builder::new().name("http".into()).spawn(move || {
        runtime.block_on(async {
            let extensions = TaskTracker::new();
            let accepting = async {
                match TcpListener::from_std(socket) {
                    Ok(socket) => accept(&socket, &adapter, &extensions).await,
                    Err(error) => tracing::error!(%error, "nobody can be served"),
                }
            };
            tokio::select! {
                () = accepting => {}
                () = adapter.closing.cancelled() => {}
            }
            extensions.close();
            extensions.wait().await;
        });
        drop(ending);
    })?;
    Ok(ended)
}

async fn accept(socket: &TcpListener, adapter: &Arc<HttpAdapter>, extensions: &TaskTracker) {
    let places = ConnectionSlots::new(adapter.limits.connections, adapter.limits.unauthenticated);
    for number in 0.. {
        match socket.accept().await {
            Ok((stream, _)) => {
                extensions.spawn(serve_connection(stream, Arc::clone(adapter), places.enter(number)));
            }
            Err(error) => {
                tracing::warn!(%error, "a connection was not accepted");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

/// Serves one connection until its client leaves, breaks a limit, or the adapter closes.
async fn serve_connection(stream: TcpStream, adapter: Arc<HttpAdapter>, place: ConnectionSlot) {
    // Answers are small, and are waited for.
    stream.set_nodelay(true).ok();
    let stream = TokioIo::new(WriteTimeoutStream::new(stream, adapter.limits.write_time));
    let (closing, admission_time) = (adapter.closing.clone(), adapter.limits.admission_time);
    let place = Arc::new(place);
    let of_requests = Arc::clone(&place);
    let mut settings = http1::Builder::new();
    settings
        .timer(TokioTimer::new())
        .header_read_timeout(adapter.limits.head_time)
        .max_buf_size(adapter.limits.head)
        .max_headers(HEADERS);
    let answering = service_fn(move |request| {
        let (adapter, place) = (Arc::clone(&adapter), Arc::clone(&of_requests));
        async move { Ok::<_, Infallible>(adapter.answer(request, &place).await) }
    });
    let connection = settings.serve_connection(stream, answering);
    tokio::pin!(connection);
    let outcome = tokio::select! {
        outcome = connection.as_mut() => outcome,
        () = admission_expired(&place, admission_time) => return,
        () = closing.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = outcome {
        tracing::debug!(%error, "a connection ended");
    }
}

/// Ends when a connection has had its time to show the token, or must make room for another, and has shown none.
async fn admission_expired(place: &ConnectionSlot, time: Duration) {
    tokio::select! {
        () = tokio::time::sleep(time) => {}
        () = place.sent_away() => {}
    }
    if place.is_admitted() {
        std::future::pending::<()>().await;
    }
}
