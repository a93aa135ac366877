//! The MCP servers of a session, from settings files, `.mcp.json` files, options, agents' definitions and plugins.

mod check;
mod definition;
mod expand;
mod json_file;
mod project_files;
mod restrictions;
mod session_definer;
mod set;
mod sources;

pub(crate) use check::check_new_server;
pub(crate) use definition::McpServerDefinition;
pub use definition::McpServerOrigin;
pub(crate) use json_file::ServerFile;
pub(crate) use project_files::{project_server_commands, trusted_command};
pub use restrictions::McpServerMatch;
pub(crate) use session_definer::SessionServerDefiner;
pub use set::{ListedMcpServer, MCP_LOGS, McpServerSet, McpServerState};
