//! The wire: JSON-RPC 2.0 in frames, over any byte stream, and the session's local socket.
//!
//! What it keeps: a frame is bounded in both directions; what waits for one peer is bounded, so a peer
//! that does not read is closed and stalls nobody else; every task started here lives in a set that a
//! connection, a client or the server owns.

#![deny(missing_docs)]

mod client;
mod connection;
mod error;
mod frame;
mod json;
pub mod local;
mod message;
mod outbox;
mod serve;

pub use client::{CallError, ConnectionClosed, Notifications, RpcClient};
pub use connection::{Connection, IncomingMessage};
pub use error::ErrorObject;
pub use frame::{FrameError, Framing};
pub use json::read_json;
pub use message::{MalformedMessage, RequestId, RpcMessage, RpcNotification, RpcRequest, RpcResponse};
pub use outbox::{ConnectionLimits, Outbox, SendError};
pub use serve::{
    ClientHandle, InProcessConnections, InProcessConnector, RequestHandler, ResponseFuture, read_params, serve,
};
