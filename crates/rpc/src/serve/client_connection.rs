//! The connection of one client: its messages are read in order, its calls answered as they finish.

use std::sync::Arc;

use protocol::api::Method;
use serde_json::Value;
use tokio::net::UnixStream;
use tokio::net::unix::OwnedReadHalf;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::call_queue::CallQueue;
use super::{ClientHandle, RequestHandler, ResponseFuture, start_call};
use crate::{
    Connection, ConnectionLimits, ErrorObject, FrameError, Framing, MalformedMessage, Outbox, RequestId, RpcMessage,
    RpcNotification, RpcRequest, RpcResponse, SendError,
};

/// How many calls of one client may be in progress. Beyond that, its messages are not read.
const MAX_CALLS: usize = 64;

/// Serves a client until it leaves, sends an invalid frame, or `token` is cancelled.
pub(super) async fn serve_client(
    stream: UnixStream,
    server: Arc<dyn RequestHandler>,
    queue: CallQueue,
    token: CancellationToken,
) {
    let (input, output) = stream.into_split();
    let mut connection = Connection::new(input, output, Framing::Lines, ConnectionLimits::LOCAL);
    let gone = CancellationToken::new();
    let _leaving = gone.clone().drop_guard();
    let outbox = connection.outbox().clone();
    let client = ClientHandle::new(outbox.clone(), gone);
    let mut client_connection = ClientConnection {
        server,
        queue,
        client,
        call_permits: Arc::new(Semaphore::new(MAX_CALLS)),
        calls: JoinSet::new(),
    };

    tokio::select! {
        () = client_connection.read_messages(&mut connection) => {}
        () = outbox.closed() => {}
        () = token.cancelled() => {}
    }

    client_connection.client.disconnect().await;
    let unfinished = async { while client_connection.calls.join_next().await.is_some() {} };
    // After the grace period, unfinished calls are dropped.
    tokio::time::timeout(ConnectionLimits::LOCAL.grace, unfinished).await.ok();
    client_connection.calls.shutdown().await;
    connection.close().await;
}

struct ClientConnection {
    server: Arc<dyn RequestHandler>,
    queue: CallQueue,
    client: ClientHandle,
    call_permits: Arc<Semaphore>,
    calls: JoinSet<()>,
}

impl ClientConnection {
    async fn read_messages(&mut self, connection: &mut Connection<OwnedReadHalf>) {
        loop {
            let outbox = connection.outbox().clone();
            match connection.next().await {
                Ok(Some(Ok(RpcMessage::Request(request)))) => self.handle_request(request, outbox).await,
                Ok(Some(Ok(RpcMessage::Notification(notification)))) => self.handle_notification(notification).await,
                // The server sends no requests to clients.
                Ok(Some(Ok(RpcMessage::Response(_)))) => {}
                Ok(Some(Err(MalformedMessage { id, error }))) => respond(&outbox, id, Err(error)).await,
                Ok(None) | Err(FrameError::Truncated | FrameError::Io(_)) => return,
                Err(error @ (FrameError::TooLarge { .. } | FrameError::Header(_))) => {
                    return outbox.close(ErrorObject::invalid(error.to_string()));
                }
            }
        }
    }

    async fn handle_request(&mut self, RpcRequest { id, method, params }: RpcRequest, outbox: Outbox) {
        let Some(permit) = self.acquire_permit().await else { return };
        let answer = self.start_call(&method, params);
        self.calls.spawn(async move {
            respond(&outbox, Some(id), answer.await).await;
            drop(permit);
        });
    }

    async fn handle_notification(&mut self, RpcNotification { method, params }: RpcNotification) {
        let Some(permit) = self.acquire_permit().await else { return };
        let answer = self.start_call(&method, params);
        self.calls.spawn(async move {
            // A notification gets no answer, not even an error.
            answer.await.ok();
            drop(permit);
        });
    }

    /// Waits for a permit for one more call, held until its answer is queued: unread answers count too.
    async fn acquire_permit(&mut self) -> Option<OwnedSemaphorePermit> {
        while self.calls.try_join_next().is_some() {}
        Arc::clone(&self.call_permits).acquire_owned().await.ok()
    }

    /// Starts or queues a call; the returned future waits for its answer.
    fn start_call(&self, name: &str, params: Value) -> ResponseFuture<'static> {
        let Some(method) = Method::from_name(name) else {
            let error = ErrorObject::unknown_method(name);
            return Box::pin(async { Err(error) });
        };
        start_call(&self.server, &self.queue, method, params, self.client.clone())
    }
}

/// Sends the answer to a call as soon as it fits.
async fn respond(outbox: &Outbox, id: Option<RequestId>, outcome: Result<Value, ErrorObject>) {
    let sent = outbox.send(RpcMessage::Response(RpcResponse { id: id.clone(), outcome })).await;
    if let Err(SendError::TooLarge { max }) = sent {
        let outcome = Err(ErrorObject::internal(format!("the answer is larger than {max} bytes: ask for less")));
        // A client that has left needs no answer.
        outbox.send(RpcMessage::Response(RpcResponse { id, outcome })).await.ok();
    }
}
