//! The interface for exchanging messages with a server.

use std::fmt;
use std::pin::Pin;

use serde_json::Value;

/// A message being sent, and its answer.
pub type McpResponseFuture<'a> = Pin<Box<dyn Future<Output = Result<Value, String>> + Send + 'a>>;

/// The transport to one server.
pub trait McpTransport: Send + Sync + fmt::Debug {
    /// Sends one JSON-RPC message. Returns the server's response to a request, and anything for a notification. The
    /// error text says why there is no answer.
    fn send(&self, message: Value) -> McpResponseFuture<'_>;
}
