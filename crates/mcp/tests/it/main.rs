//! MCP servers from the outside.

#![cfg(test)]

mod faults;
mod hostile;
mod server;
mod servers;
mod session;
mod sharing;
