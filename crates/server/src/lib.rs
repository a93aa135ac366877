//! Keeps sessions running for others: clients of the HTTP server, of the SDK adapters, and of `bosun serve`.
//!
//! A session that is held here belongs to one background task, so that it runs whether or not a client is connected. A
//! resident host also records its sessions, so that the next one adopts them after a crash or a hand-over.

#![deny(missing_docs)]

mod activity;
mod held_record;
mod held_session;
mod host_end;
mod host_process;
mod opener;
mod session_host;

pub use held_session::{Attachment, HeldSession, KeepMode};
pub use host_end::HostEnd;
pub use host_process::{HOST_LOCK, HostDescription, HostProcess};
pub use opener::{AnswerFuture, HostCatalog, OpenRefusal, OpenRequest, OpenSessionFuture, SessionOpener};
pub use session_host::{HostError, SessionHost};
