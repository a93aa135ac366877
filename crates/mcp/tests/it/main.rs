//! MCP servers from the outside.

#![cfg(test)]

mod hostile;
mod server;
mod servers;
mod session;
