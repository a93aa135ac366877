//! The interface for exchanging messages with a server.

use std::fmt;
use std::pin::Pin;

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tools::BoxFuture;

use crate::{McpRevision, McpToolDescription, OAuthError};

/// A message being sent, and its answer.
pub type McpResponseFuture<'a> = Pin<Box<dyn Future<Output = Result<Value, TransportError>> + Send + 'a>>;

/// Why a message has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TransportError {
    /// The server has ended the session; the message was not read.
    #[error("its session has expired")]
    SessionExpired,
    /// There is no access to the server.
    #[error("{0}")]
    Access(OAuthError),
    /// Anything else.
    #[error("{0}")]
    Failed(String),
}

impl From<String> for TransportError {
    fn from(why: String) -> TransportError {
        TransportError::Failed(why)
    }
}

impl From<OAuthError> for TransportError {
    fn from(error: OAuthError) -> TransportError {
        TransportError::Access(error)
    }
}

impl From<net::NetError> for TransportError {
    fn from(error: net::NetError) -> TransportError {
        TransportError::Failed(error.to_string())
    }
}

/// The transport to one server.
pub trait McpTransport: Send + Sync + fmt::Debug {
    /// Sends one JSON-RPC message. Returns the server's response to a request, and anything for a notification or a
    /// response.
    fn send(&self, message: Value) -> McpResponseFuture<'_>;

    /// The requests and notifications of the server, if it can send any. They are taken once.
    fn take_server_messages(&self) -> Option<mpsc::Receiver<Value>> {
        None
    }

    /// Tells the transport what was negotiated: the family of revisions, and the version in it.
    fn negotiated(&self, _revision: McpRevision, _version: &str) {}

    /// Tells the transport the server's tools, some of whose arguments it may have to repeat outside of the message.
    fn use_tools(&self, _tools: &[McpToolDescription]) {}

    /// Receives messages that belong to no request until the connection ends. `opened` is told once the server can
    /// send some.
    fn receive(&self, opened: oneshot::Sender<()>) -> BoxFuture<'_, ()> {
        drop(opened);
        Box::pin(std::future::ready(()))
    }

    /// Tells the server that it is not needed any more.
    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

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
