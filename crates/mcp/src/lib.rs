//! MCP: servers whose tools agents can call.
//!
//! A server is an untrusted program. Its answers are limited in size, number and time; an invalid answer is an error
//! message, and never more than that.

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
