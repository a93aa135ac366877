//! The HTTP adapter: REST for commands, server-sent events for what happens. It listens on loopback only, and whoever comes
//! must hold its token, name it by its own address, and not come from a page of somebody else.
//!
//! One table ([`routes`]) says what there is; the router, the OpenAPI document and the docs are made from it. Sessions
//! that are begun here run here, whoever watches; those of other processes are reached through their sockets, and those
//! that nobody runs are read from their files.

mod access_guard;
mod adapter;
mod body;
mod connection_slots;
mod events;
mod limits;
mod listen;
mod openapi;
mod payloads;
mod problem;
mod relay;
mod route;
mod routes;
mod running_sessions;
mod session_access;
mod session_list;
mod session_start;
mod stored_session;
mod write_timeout;

pub use crate::token::AccessToken;
pub use limits::HttpLimits;
pub use listen::HttpListener;
pub use openapi::{openapi, routes_markdown};
