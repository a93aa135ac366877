//! Lists the resources of MCP servers.

use protocol::tool_name;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::args::TypedTool;
use crate::{RequiredPermission, ToolAccess, ToolContext, ToolError, ToolOutput, ToolPlace};

/// The `list_mcp_resources` tool.
pub(crate) struct ListMcpResources;

/// The arguments of `list_mcp_resources`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListMcpResourcesArgs {
    /// The server; all when empty.
    #[serde(default)]
    server: String,
}

impl TypedTool for ListMcpResources {
    type Args = ListMcpResourcesArgs;
    const NAME: &'static str = tool_name::LIST_MCP_RESOURCES;
    const ABOUT: &'static str = include_str!("list_mcp_resources.md");
    const ACCESS: ToolAccess = ToolAccess::Session;

    fn place(_args: &ListMcpResourcesArgs) -> ToolPlace {
        ToolPlace::Session
    }

    fn required_permissions(_args: &ListMcpResourcesArgs) -> Result<Vec<RequiredPermission>, ToolError> {
        Ok(vec![RequiredPermission::Session])
    }

    async fn run(args: ListMcpResourcesArgs, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let _starting = cx.heartbeat.pause();
        let server = Some(args.server).filter(|server| !server.is_empty());
        Ok(ToolOutput::text(&cx.session()?.resources.list(server).await?, cx))
    }
}
