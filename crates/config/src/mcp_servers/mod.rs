//! The MCP servers of a session, from settings files, `.mcp.json` files, options, agents' definitions and plugins.

mod definition;
mod expand;
mod json_file;
mod restrictions;
mod servers;

pub(crate) use definition::McpServerDefinition;
pub use definition::McpServerOrigin;
pub(crate) use json_file::ServerFile;
pub use restrictions::McpServerMatch;
pub use servers::{ListedMcpServer, MCP_LOGS, McpServerSet, McpServerState};
pub(crate) use servers::{SessionServerDefiner, project_server_commands, trusted_command};
