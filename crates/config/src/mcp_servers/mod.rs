//! The MCP servers of a session, from settings files, `.mcp.json` files and options.

mod expand;
mod json_file;
mod restrictions;
mod servers;

pub use restrictions::McpServerMatch;
pub(crate) use servers::project_server_commands;
pub use servers::{ListedMcpServer, MCP_LOGS, McpServerSet, McpServerState};
