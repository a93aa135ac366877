//! The streamable HTTP transport on loopback: one address, to which clients post their messages. An answer is JSON, or
//! a stream of server-sent events if something has to be said before it.

mod endpoint;
mod headers;
mod reply;
mod sessions;

pub use endpoint::serve_http;

/// The path that clients use.
pub const MCP_PATH: &str = "/mcp";
