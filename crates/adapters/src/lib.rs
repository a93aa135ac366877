//! Adapters: how programs that were written for another agent's SDK drive Bosun. An adapter only translates between a family's
//! wire and the API of `protocol`; what happens is decided where it always is.
//!
//! A client's troubles stay its own: frames are bounded, queues are bounded, and one that does not read is closed.

#![deny(missing_docs)]

pub mod claude;
pub mod copilot;
mod decision;
mod flags;
pub mod http;
mod ids;
mod managed;
mod session_host;
mod token;

pub use ids::{session_id, session_uuid};
pub use session_host::{
    AdapterExit, ClientProvider, HostCatalog, OpenRefusal, OpenRequest, OpenSessionFuture, SessionHost,
};
