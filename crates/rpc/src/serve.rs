//! The serving side of the API. Methods of one session are applied one after the other in the order they
//! came, whoever sent them, except that one that waits for something slow lets other clients pass; all others run at
//! once. A client's troubles stay its own.

mod call_queue;
mod client;
mod client_connection;

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use protocol::api::Method;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tokio::net::UnixStream;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

pub use client::ClientHandle;

use crate::local::LocalListener;
use crate::{ErrorObject, Notifications, RpcClient};
use call_queue::CallQueue;

/// A call being answered.
pub type ResponseFuture<'a> = Pin<Box<dyn Future<Output = Result<Value, ErrorObject>> + Send + 'a>>;

/// Whoever answers the API's calls.
pub trait RequestHandler: Send + Sync + 'static {
    /// Answers one call. The table has already decided that the method exists and when it runs.
    fn call(&self, method: Method, params: Value, client: ClientHandle) -> ResponseFuture<'_>;
}

/// Reads a call's parameters; absent ones are an empty object.
pub fn read_params<P: DeserializeOwned>(params: Value) -> Result<P, ErrorObject> {
    let params = if params.is_null() { Value::Object(Map::new()) } else { params };
    serde_json::from_value(params).map_err(ErrorObject::bad_params)
}

/// How long the machine is left alone after it could not accept a client.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// How many clients of this process may be about to be served.
const LINKS: usize = 16;

/// Where clients in this process come in: they need no socket, and nobody asks who they are.
#[derive(Debug, Clone)]
pub struct InProcessConnector(mpsc::Sender<UnixStream>);

/// The clients that come in there.
#[derive(Debug)]
pub struct InProcessConnections(mpsc::Receiver<UnixStream>);

impl InProcessConnector {
    /// A way in, for whoever serves the other end.
    pub fn new() -> (InProcessConnector, InProcessConnections) {
        let (sender, receiver) = mpsc::channel(LINKS);
        (InProcessConnector(sender), InProcessConnections(receiver))
    }

    /// A client of the server.
    pub async fn connect(&self) -> io::Result<(RpcClient, Notifications)> {
        let (ours, theirs) = UnixStream::pair()?;
        let gone = |_closed| io::Error::new(io::ErrorKind::ConnectionRefused, "nobody serves here any more");
        self.0.send(theirs).await.map_err(gone)?;
        let (input, output) = ours.into_split();
        Ok(RpcClient::over(input, output))
    }
}

/// Serves every client of `listener`, if there is one, and of this process until `token` is cancelled, then lets calls
/// under way end within the grace.
pub async fn serve(
    listener: Option<LocalListener>,
    mut insiders: InProcessConnections,
    server: Arc<dyn RequestHandler>,
    token: CancellationToken,
) {
    let (line, calls) = CallQueue::new(Arc::clone(&server));
    let mut in_order = JoinSet::new();
    in_order.spawn(calls);
    let mut clients = JoinSet::new();
    loop {
        tokio::select! {
            () = token.cancelled() => break,
            Some(stream) = insiders.0.recv() => {
                clients.spawn(client_connection::serve_client(stream, Arc::clone(&server), line.clone(), token.clone()));
            }
            accepted = accept(listener.as_ref()) => match accepted {
                Ok(stream) => {
                    clients.spawn(client_connection::serve_client(stream, Arc::clone(&server), line.clone(), token.clone()));
                }
                // Too many open files, say: it passes when a client leaves.
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            },
            Some(_) = clients.join_next() => {}
        }
    }
    drop(listener);
    while clients.join_next().await.is_some() {}
}

/// The next client; never, where nobody listens.
async fn accept(listener: Option<&LocalListener>) -> io::Result<UnixStream> {
    match listener {
        Some(listener) => listener.accept().await,
        None => std::future::pending().await,
    }
}

/// Runs one call to its end. A panic in it is an answer, not the end of the server.
async fn run_call(
    server: Arc<dyn RequestHandler>,
    method: Method,
    params: Value,
    client: ClientHandle,
) -> Result<Value, ErrorObject> {
    let mut alone = JoinSet::new();
    alone.spawn(async move { server.call(method, params, client).await });
    match alone.join_next().await {
        Some(Ok(outcome)) => outcome,
        Some(Err(_)) | None => Err(ErrorObject::internal(format!("{} broke while it ran", method.name()))),
    }
}
