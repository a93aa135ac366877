//! MCP: servers whose tools agents can call.
//!
//! A server is somebody else's program. What it says is bounded in size, in number and in time; an answer that is not
//! what was asked for is an error in words, and never more than that.

#![deny(missing_docs)]

mod content;
mod error;
mod limits;
mod name;
mod server;
mod tool;
mod tool_description;
mod transport;
mod wire;

pub use error::McpError;
pub use limits::{McpLimits, McpOptions, McpTimeouts};
pub use name::{name_pattern, tool_name};
pub use server::{McpServer, McpToolList, PROTOCOL_VERSION};
pub use tool_description::McpToolDescription;
pub use transport::{McpResponseFuture, McpTransport};
