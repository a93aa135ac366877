//! The door of the Copilot SDKs: JSON-RPC in `Content-Length` frames, on standard input and output or on a port of this
//! machine.
//!
//! A session belongs to the server, not to a client: clients come and go, and more than one may watch it.

mod args;
mod audience;
mod base;
mod client_commands;
mod client_tasks;
mod events;
mod filter;
mod held;
mod history;
mod hooks;
mod methods;
mod naming;
mod order;
mod peer;
mod questions;
mod rest;
mod serve;
mod server;
mod stay;
mod table;
mod tools;
mod unmet;
mod visit;
mod watch;

pub use methods::provider::Offer;
pub use serve::{serve, serve_on};
pub use table::{Published, published};
