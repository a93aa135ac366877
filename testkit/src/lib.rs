//! Shared test code: a session driver, a fake clock, counted ids, the binary with injected faults, and a model server
//! with faults of its own.
//!
//! Dev-only: no crate has it as a normal dependency.

pub mod binary;
pub mod chaos;
pub mod http;
mod installed;
pub mod mcp;
pub mod mcp_peer;
pub mod oracle;
pub mod server;
pub mod session;
pub mod todos;

/// The runtime, for tests of crates beside it.
pub use runtime;
/// The store, for tests that act as another process on a session's file.
pub use store;
