//! Keeps sessions running for others: clients of the HTTP server, of the SDK adapters, and of `bosun serve`.
//!
//! A session that is held here belongs to one background task, so that it runs whether or not a client is connected.

#![deny(missing_docs)]

mod held_session;
mod opener;
mod session_host;

pub use held_session::{HeldSession, KeepMode};
pub use opener::{ClientProvider, HostCatalog, OpenRefusal, OpenRequest, OpenSessionFuture, SessionOpener};
pub use session_host::{HostError, SessionHost};
