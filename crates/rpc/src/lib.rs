//! JSON-RPC 2.0 over any byte stream, and the session's local socket.
//!
//! Guarantees: frames are bounded in both directions; the queue for each peer is bounded, so a peer that does not read
//! is closed and does not stall others; every task started here belongs to a set owned by a connection, a client or the
//! server.

#![deny(missing_docs)]

mod client;
mod connection;
mod error;
mod frame;
mod json;
pub mod local;
mod message;
mod objects;
mod outbox;
mod serve;

pub use client::{CallError, ConnectionClosed, Notifications, RpcClient};
pub use connection::{Connection, IncomingMessage};
pub use error::ErrorObject;
pub use frame::{FrameError, Framing};
pub use json::read_json;
pub use message::{MalformedMessage, RequestId, RpcMessage, RpcNotification, RpcRequest, RpcResponse};
pub use objects::{ReadError, read_objects};
pub use outbox::{ConnectionLimits, Outbox, SendError};
pub use serve::{
    ClientHandle, InProcessConnector, InProcessRequests, RequestHandler, ResponseFuture, read_params, serve,
};
