//! The MCP servers of a client: those inside it, which are reached through it, and programs and URLs, which become
//! servers of the session.

mod configs;
mod in_process;
mod requests;
mod status;

pub(super) use configs::{ClientServerConfigs, add_tool_rules};
pub(super) use in_process::InProcessServers;
pub(super) use requests::ServerConnector;
