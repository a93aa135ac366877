//! The HTTP door: REST for commands, server-sent events for what happens. It listens on loopback only, and whoever comes
//! must hold its token, name it by its own address, and not come from a page of somebody else.
//!
//! One table ([`routes`]) says what there is; the router, the OpenAPI document and the docs are made from it. Sessions
//! that are begun here run here, whoever watches; those of other processes are reached through their sockets, and those
//! that nobody runs are read from their files.

mod begin;
mod body;
mod door;
mod events;
mod file;
mod gate;
mod hall;
mod limits;
mod listen;
mod openapi;
mod patient;
mod problem;
mod reach;
mod relay;
mod route;
mod routes;
mod shelf;
mod strangers;
mod words;

pub use crate::token::Token;
pub use limits::Limits;
pub use listen::Listener;
pub use openapi::{openapi, table};
