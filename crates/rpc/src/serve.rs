//! The server side of the API. Methods with session ordering run one after the other in order of arrival, across all
//! clients, except that a slow call can let other clients go first; all other methods run at once. An error of one
//! client does not affect the others.

mod call_queue;
mod client;
mod client_connection;
mod in_process;

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use protocol::api::{CallOrdering, Method};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tokio::net::UnixStream;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

pub use client::ClientHandle;
pub use in_process::{InProcessConnector, InProcessRequests};

use crate::ErrorObject;
use crate::local::LocalListener;
use crate::objects::read_objects;
use call_queue::CallQueue;
use in_process::InProcessRequest;

/// A call in progress.
pub type ResponseFuture<'a> = Pin<Box<dyn Future<Output = Result<Value, ErrorObject>> + Send + 'a>>;

/// Answers the API's calls.
pub trait RequestHandler: Send + Sync + 'static {
    /// Answers one call. For methods with session ordering, all earlier calls have been answered or have released their
    /// turn.
    fn call(&self, method: Method, params: Value, client: ClientHandle) -> ResponseFuture<'_>;
}

/// Reads a call's parameters; absent ones are an empty object.
pub fn read_params<P: DeserializeOwned + Serialize>(params: Value) -> Result<P, ErrorObject> {
    let params = if params.is_null() { Value::Object(Map::new()) } else { params };
    read_objects(params).map_err(ErrorObject::bad_params)
}

/// Pause after accepting a client failed.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves the clients of `listener`, if there is one, and those in this process until `token` is cancelled, then lets
/// running calls finish within the grace period.
pub async fn serve(
    listener: Option<LocalListener>,
    mut in_process: InProcessRequests,
    server: Arc<dyn RequestHandler>,
    token: CancellationToken,
) {
    let (queue, calls) = CallQueue::new(Arc::clone(&server));
    let mut in_order = JoinSet::new();
    in_order.spawn(calls);
    let mut clients = JoinSet::new();
    loop {
        tokio::select! {
            () = token.cancelled() => break,
            Some(request) = in_process.next() => match request {
                InProcessRequest::Connect(stream) => {
                    clients.spawn(client_connection::serve_client(stream, Arc::clone(&server), queue.clone(), token.clone()));
                }
                InProcessRequest::Call { method, params, reply } => {
                    let answer = start_call(&server, &queue, method, params, ClientHandle::without_connection());
                    clients.spawn(in_process::reply(answer, reply, token.clone()));
                }
            },
            accepted = accept(listener.as_ref()) => match accepted {
                Ok(stream) => {
                    clients.spawn(client_connection::serve_client(stream, Arc::clone(&server), queue.clone(), token.clone()));
                }
                // For example too many open files: that passes when a client leaves.
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            },
            Some(_) = clients.join_next() => {}
        }
    }
    drop(listener);
    while clients.join_next().await.is_some() {}
}

/// Accepts the next client; never returns without a listener.
async fn accept(listener: Option<&LocalListener>) -> io::Result<UnixStream> {
    match listener {
        Some(listener) => listener.accept().await,
        None => std::future::pending().await,
    }
}

/// Starts a call, or queues it if it has session ordering; the returned future waits for its answer.
fn start_call(
    server: &Arc<dyn RequestHandler>,
    queue: &CallQueue,
    method: Method,
    params: Value,
    client: ClientHandle,
) -> ResponseFuture<'static> {
    match method.spec().order {
        CallOrdering::Any => Box::pin(run_call(Arc::clone(server), method, params, client)),
        CallOrdering::Session => Box::pin(queue.enqueue(method, params, client)),
    }
}

/// Runs one call to its end. A panic in it becomes an error answer and does not end the server.
async fn run_call(
    server: Arc<dyn RequestHandler>,
    method: Method,
    params: Value,
    client: ClientHandle,
) -> Result<Value, ErrorObject> {
    let mut task = JoinSet::new();
    task.spawn(async move { server.call(method, params, client).await });
    match task.join_next().await {
        Some(Ok(outcome)) => outcome,
        Some(Err(_)) | None => Err(ErrorObject::internal(format!("{} failed unexpectedly", method.name()))),
    }
}
