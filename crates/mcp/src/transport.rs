//! How messages reach a server and its answers come back, whatever lies between.

use std::fmt;
use std::pin::Pin;

use serde_json::Value;

/// A message on its way, and its answer.
pub type McpResponseFuture<'a> = Pin<Box<dyn Future<Output = Result<Value, String>> + Send + 'a>>;

/// The way to one server.
pub trait McpTransport: Send + Sync + fmt::Debug {
    /// Sends one JSON-RPC message. A request is answered with the server's response, a notification with anything; says
    /// in words why there is no answer.
    fn send(&self, message: Value) -> McpResponseFuture<'_>;
}
