//! The HTTP adapter: REST for commands, server-sent events for events. It listens on loopback only. A client must send
//! the token, use the adapter's own address, and not be a page from another origin.
//!
//! One table ([`routes`]) defines the API; the router, the OpenAPI document and the docs are generated from it.
//! Sessions started here run in this process, whether or not a client watches them; those of other processes are reached through
//! their sockets, and those that no process runs are read from their files.

mod access_guard;
mod adapter;
pub(crate) mod body;
mod connection_slots;
mod events;
mod limits;
mod listen;
mod openapi;
mod payloads;
mod problem;
mod relay;
mod route;
mod route_schemas;
mod routes;
mod server_context;
mod session_access;
mod session_start;
mod stream_end;
mod write_timeout;

pub use crate::token::AccessToken;
pub(crate) use body::ApiResponse;
pub use limits::HttpLimits;
pub use listen::HttpListener;
pub(crate) use listen::serve_clients;
pub use openapi::{OPENAPI, generate_openapi, routes_markdown};
pub(crate) use problem::HttpProblem;
pub(crate) use server_context::{HttpResponder, HttpServerContext};
pub(crate) use stream_end::StreamClosing;
pub use stream_end::StreamEnd;
