//! The way of messages to a client: over a stream that answers one of its requests, or over its connection.

use rpc::{Outbox, RpcMessage, RpcNotification, SendError};
use serde_json::Value;
use tokio::sync::mpsc;

/// How many messages may wait on a stream for a client that does not read.
const MAX_WAITING: usize = 64;

/// The way of messages to a client. A sender waits while it is full.
#[derive(Debug, Clone)]
pub(crate) enum MessageSink {
    /// The stream that answers a request.
    Stream(mpsc::Sender<RpcMessage>),
    /// A connection.
    Connection(Outbox),
}

/// The client has left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClientGone;

impl MessageSink {
    /// A stream for one request, and its messages.
    pub(crate) fn stream() -> (MessageSink, mpsc::Receiver<RpcMessage>) {
        let (sender, messages) = mpsc::channel(MAX_WAITING);
        (MessageSink::Stream(sender), messages)
    }

    pub(crate) async fn notify(&self, method: &str, params: Value) -> Result<(), ClientGone> {
        self.send(RpcMessage::Notification(RpcNotification { method: method.to_owned(), params })).await
    }

    pub(crate) async fn send(&self, message: RpcMessage) -> Result<(), ClientGone> {
        match self {
            MessageSink::Stream(sender) => sender.send(message).await.map_err(|_closed| ClientGone),
            MessageSink::Connection(outbox) => match outbox.send(message).await {
                Ok(()) => Ok(()),
                Err(SendError::Closed) => Err(ClientGone),
                Err(SendError::TooLarge { max }) => {
                    tracing::warn!(max, "dropping a message that is too large for an MCP client");
                    Ok(())
                }
            },
        }
    }
}
