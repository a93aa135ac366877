//! Reads a resource of an MCP server.

use protocol::{mcp_tool_name, tool_name};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::args::TypedTool;
use crate::{RequiredPermission, ToolAccess, ToolContext, ToolError, ToolOutput, ToolPlace};

/// The `read_mcp_resource` tool.
pub(crate) struct ReadMcpResource;

/// The arguments of `read_mcp_resource`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadMcpResourceArgs {
    /// The server.
    server: String,
    /// The address of the resource.
    uri: String,
}

impl TypedTool for ReadMcpResource {
    type Args = ReadMcpResourceArgs;
    const NAME: &'static str = tool_name::READ_MCP_RESOURCE;
    const ABOUT: &'static str = include_str!("read_mcp_resource.md");
    const ACCESS: ToolAccess = ToolAccess::Session;

    fn place(_args: &ReadMcpResourceArgs) -> ToolPlace {
        ToolPlace::Session
    }

    fn required_permissions(_args: &ReadMcpResourceArgs) -> Result<Vec<RequiredPermission>, ToolError> {
        Ok(vec![RequiredPermission::Other])
    }

    async fn run(args: ReadMcpResourceArgs, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let _starting = cx.heartbeat.pause();
        Ok(ToolOutput::text(&cx.session()?.resources.read(args.server, args.uri).await?, cx))
    }
}

/// The name that rules have for reading a resource of the server in this input, such as `mcp__docs__read_resource`.
pub(super) fn judged_name(input: &str) -> Option<String> {
    let args: ReadMcpResourceArgs = serde_json::from_str(input).ok()?;
    Some(mcp_tool_name(&args.server, "read_resource"))
}
