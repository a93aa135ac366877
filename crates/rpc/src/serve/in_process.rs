//! Clients in the server's own process.

use std::io;

use protocol::api::Method;
use serde_json::Value;
use tokio::net::UnixStream;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::ResponseFuture;
use crate::{CallError, ConnectionClosed, ConnectionLimits, ErrorObject, Notifications, RpcClient};

/// How many in-process clients and calls may wait to be served.
const MAX_PENDING_REQUESTS: usize = 16;

/// Reaches the server from the same process: its clients need no socket and are not checked.
#[derive(Debug, Clone)]
pub struct InProcessConnector(mpsc::Sender<InProcessRequest>);

/// The receiving end of an [`InProcessConnector`].
#[derive(Debug)]
pub struct InProcessRequests(mpsc::Receiver<InProcessRequest>);

/// What a client in the same process asks for.
#[derive(Debug)]
pub(super) enum InProcessRequest {
    /// To be served on this stream.
    Connect(UnixStream),
    /// The answer to one call.
    Call { method: Method, params: Value, reply: oneshot::Sender<Result<Value, ErrorObject>> },
}

impl InProcessConnector {
    /// Creates a connector and the receiving end for [`serve`].
    pub fn new() -> (InProcessConnector, InProcessRequests) {
        let (sender, receiver) = mpsc::channel(MAX_PENDING_REQUESTS);
        (InProcessConnector(sender), InProcessRequests(receiver))
    }

    /// Connects a new client to the server.
    pub async fn connect(&self) -> io::Result<(RpcClient, Notifications)> {
        let (ours, theirs) = UnixStream::pair()?;
        let gone = |_closed| io::Error::new(io::ErrorKind::ConnectionRefused, "the server has ended");
        self.0.send(InProcessRequest::Connect(theirs)).await.map_err(gone)?;
        let (input, output) = ours.into_split();
        Ok(RpcClient::on_streams(input, output))
    }

    /// Calls a method without a connection, so that neither the parameters nor the answer have a maximum size. Each call
    /// counts as a client of its own. Dropping the future discards the answer but does not cancel the call.
    pub async fn call(&self, method: Method, params: Value) -> Result<Value, CallError> {
        let ended = || CallError::Closed(ConnectionClosed { reason: "the server has ended".into() });
        let (reply, answer) = oneshot::channel();
        self.0.send(InProcessRequest::Call { method, params, reply }).await.map_err(|_gone| ended())?;
        answer.await.map_err(|_gone| ended())?.map_err(CallError::Refused)
    }
}

impl InProcessRequests {
    /// The next request; none when no connector is left.
    pub(super) async fn next(&mut self) -> Option<InProcessRequest> {
        self.0.recv().await
    }
}

/// Sends the answer to a call of this process. Once `token` is cancelled, the call has the grace period to end.
pub(super) async fn reply(
    answer: ResponseFuture<'static>,
    reply: oneshot::Sender<Result<Value, ErrorObject>>,
    token: CancellationToken,
) {
    let grace_is_over = async {
        token.cancelled().await;
        tokio::time::sleep(ConnectionLimits::LOCAL.grace).await;
    };
    tokio::select! {
        // Fails if the caller no longer waits.
        outcome = answer => drop(reply.send(outcome)),
        () = grace_is_over => {}
    }
}
