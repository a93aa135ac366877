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

use super::door::Door;
use super::gate::Gate;
use super::hall::Hall;
use super::patient::Patient;
use super::relay::Relays;
use super::strangers::{Place, Places};
use super::{Limits, Token};
use crate::House;

/// Most headers of a request.
const HEADERS: usize = 64;

/// Most threads for what blocks, such as lists of sessions.
const BLOCKING_THREADS: usize = 4;

/// How long to wait when the machine has no more descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// A socket on loopback that nobody is served on yet.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    address: SocketAddr,
}

impl Listener {
    /// Listens on a port of loopback; any that is free with 0.
    pub async fn bind(port: u16) -> io::Result<Listener> {
        let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let address = socket.local_addr()?;
        Ok(Listener { socket, address })
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
        house: Arc<dyn House>,
        token: Token,
        limits: Limits,
        end: impl Future<Output = ()>,
    ) -> io::Result<()> {
        let closing = CancellationToken::new();
        let hall = Arc::new(Hall::new(house, limits.sessions, closing.clone()));
        let door = Arc::new(Door {
            gate: Gate::new(token, self.address.port()),
            hall: Arc::clone(&hall),
            streams: Arc::new(Semaphore::new(limits.streams)),
            relays: Relays::default(),
            limits: limits.clone(),
            closing: closing.clone(),
        });
        let mut served = receive_all(self.socket.into_std()?, door)?;
        let is_broken = tokio::select! {
            () = end => false,
            _early = &mut served => true,
        };
        closing.cancel();
        let over = async {
            hall.empty().await;
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

/// Serves clients on a thread of their own until the door closes and they have left. What is given ends then.
fn receive_all(socket: std::net::TcpListener, door: Arc<Door>) -> io::Result<oneshot::Receiver<()>> {
    let runtime = Builder::new_current_thread().enable_all().max_blocking_threads(BLOCKING_THREADS).build()?;
    let (ending, ended) = oneshot::channel::<()>();
    thread::Builder::new().name("http".into()).spawn(move || {
        runtime.block_on(async {
            let guests = TaskTracker::new();
            let accepting = async {
                match TcpListener::from_std(socket) {
                    Ok(socket) => accept(&socket, &door, &guests).await,
                    Err(error) => tracing::error!(%error, "nobody can be served"),
                }
            };
            tokio::select! {
                () = accepting => {}
                () = door.closing.cancelled() => {}
            }
            guests.close();
            guests.wait().await;
        });
        drop(ending);
    })?;
    Ok(ended)
}

async fn accept(socket: &TcpListener, door: &Arc<Door>, guests: &TaskTracker) {
    let places = Places::new(door.limits.connections, door.limits.strangers);
    for number in 0.. {
        match socket.accept().await {
            Ok((stream, _)) => {
                guests.spawn(receive(stream, Arc::clone(door), places.enter(number)));
            }
            Err(error) => {
                tracing::warn!(%error, "a connection was not accepted");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

/// Serves one connection until its client leaves, breaks a limit, or the door closes.
async fn receive(stream: TcpStream, door: Arc<Door>, place: Place) {
    // Answers are small, and are waited for.
    stream.set_nodelay(true).ok();
    let stream = TokioIo::new(Patient::new(stream, door.limits.write_time));
    let (closing, admission_time) = (door.closing.clone(), door.limits.admission_time);
    let place = Arc::new(place);
    let of_requests = Arc::clone(&place);
    let mut settings = http1::Builder::new();
    settings
        .timer(TokioTimer::new())
        .header_read_timeout(door.limits.head_time)
        .max_buf_size(door.limits.head)
        .max_headers(HEADERS);
    let answering = service_fn(move |request| {
        let (door, place) = (Arc::clone(&door), Arc::clone(&of_requests));
        async move { Ok::<_, Infallible>(door.answer(request, &place).await) }
    });
    let connection = settings.serve_connection(stream, answering);
    tokio::pin!(connection);
    let outcome = tokio::select! {
        outcome = connection.as_mut() => outcome,
        () = stays_out(&place, admission_time) => return,
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
async fn stays_out(place: &Place, time: Duration) {
    tokio::select! {
        () = tokio::time::sleep(time) => {}
        () = place.sent_away() => {}
    }
    if place.is_admitted() {
        std::future::pending::<()>().await;
    }
}
