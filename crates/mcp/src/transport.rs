//! The interface for exchanging messages with a server.

use std::fmt;
use std::pin::Pin;

use serde_json::Value;
use tokio::sync::mpsc;

use crate::McpRevision;

/// A message being sent, and its answer.
pub type McpResponseFuture<'a> = Pin<Box<dyn Future<Output = Result<Value, String>> + Send + 'a>>;

/// The transport to one server.
pub trait McpTransport: Send + Sync + fmt::Debug {
    /// Sends one JSON-RPC message. Returns the server's response to a request, and anything for a notification or a
    /// response. The error text says why there is no answer.
    fn send(&self, message: Value) -> McpResponseFuture<'_>;

    /// The requests and notifications of the server, if it can send any. They are taken once.
    fn take_server_messages(&self) -> Option<mpsc::Receiver<Value>> {
        None
    }

    /// Tells the transport which revision was negotiated.
    fn use_revision(&self, _revision: McpRevision) {}

    /// Why the connection can no longer be used, once it cannot.
    fn closed(&self) -> Option<String> {
        None
    }
}

/// How many requests and notifications of a server may wait; further ones are dropped.
const MAX_WAITING: usize = 256;

/// Where a transport puts the requests and notifications of its server.
#[derive(Debug, Clone)]
pub(crate) struct ServerMessageSink(mpsc::Sender<Value>);

impl ServerMessageSink {
    pub(crate) fn new() -> (ServerMessageSink, mpsc::Receiver<Value>) {
        let (sender, receiver) = mpsc::channel(MAX_WAITING);
        (ServerMessageSink(sender), receiver)
    }

    /// Passes a message on. If a server sends messages faster than they are handled, some are dropped.
    pub(crate) fn push(&self, message: Value) {
        if let Err(error) = self.0.try_send(message) {
            tracing::debug!(%error, "a message of an MCP server is dropped");
        }
    }
}
