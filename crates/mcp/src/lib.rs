//! MCP: servers whose tools agents can call.
//!
//! A server is somebody else's program. What it says is bounded in size, in number and in time; an answer that is not
//! what was asked for is an error in words, and never more than that.

#![deny(missing_docs)]

mod content;
mod error;
mod limits;
mod line;
mod listing;
mod name;
mod server;
mod tool;
mod wire;

pub use error::McpError;
pub use limits::{Deadlines, Limits, Terms};
pub use line::{Line, Sending};
pub use listing::Listing;
pub use name::{name_pattern, tool_name};
pub use server::{Offer, PROTOCOL_VERSION, Server};
