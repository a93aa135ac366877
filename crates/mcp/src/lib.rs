//! MCP: servers whose tools agents can call.

#![deny(missing_docs)]

mod line;

pub use line::{Line, Sending};
