//! Adapters for programs that were written for another agent SDK, and the HTTP server. An adapter only translates
//! between an SDK family's wire format and the API of `protocol`; it makes no decisions about tasks.
//!
//! Clients do not affect each other: frames are bounded, queues are bounded, and a client that does not read is closed.

#![deny(missing_docs)]

pub mod claude;
pub mod copilot;
mod decision;
mod effort;
mod exit;
pub mod http;
mod ids;
mod managed;
pub mod mcp;
mod token;

pub use exit::AdapterExit;
pub use ids::{session_id, session_uuid};
