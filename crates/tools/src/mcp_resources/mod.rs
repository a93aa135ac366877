//! The tools for resources of MCP servers, each in two files: its code (`.rs`) and its description for the model
//! (`.md`).

mod list_mcp_resources;
mod read_mcp_resource;

use std::sync::Arc;

use list_mcp_resources::ListMcpResources;
use protocol::tool_name;
use read_mcp_resource::ReadMcpResource;

use crate::Tool;
use crate::args::typed_tool;

/// The tools for resources of MCP servers: listing and reading.
pub fn mcp_resource_tools() -> Vec<Arc<dyn Tool>> {
    vec![typed_tool::<ListMcpResources>(), typed_tool::<ReadMcpResource>()]
}

/// The name by which rules know a call, if it is not that of its tool: reading a resource is judged like a tool of the
/// resource's server.
pub fn judged_name(tool: &str, input: &str) -> Option<String> {
    (tool == tool_name::READ_MCP_RESOURCE).then(|| read_mcp_resource::judged_name(input)).flatten()
}
