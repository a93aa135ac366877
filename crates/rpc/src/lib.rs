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

pub use client::{CallError, Client, Closed, Notifications};
pub use connection::{Connection, Incoming};
pub use error::ErrorObject;
pub use frame::{FrameError, Framing};
pub use json::read_json;
pub use message::{Id, Malformed, Message, Notification, Request, Response};
pub use outbox::{Limits, Outbox, SendError};
pub use serve::{Answering, ClientHandle, Inside, Insiders, Serve, params, serve};
