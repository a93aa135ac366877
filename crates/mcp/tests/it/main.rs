//! MCP servers from the outside.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod hostile;
mod server;
mod session;
