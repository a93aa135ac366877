//! MCP servers from the outside.

#![cfg(test)]

mod control;
mod faults;
mod hostile;
mod remote_tasks;
mod server;
mod servers;
mod session;
mod sharing;
