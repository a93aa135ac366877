//! MCP servers from the outside.

mod hostile;
mod server;
mod session;
