//! Lists agents.

use protocol::tool_name;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::args::TypedTool;
use crate::{RequiredPermission, ToolAccess, ToolContext, ToolError, ToolOutput, ToolPlace};

/// The `list_agents` tool.
pub(crate) struct ListAgents;

/// The arguments of `list_agents`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListAgentsArgs {}

impl TypedTool for ListAgents {
    type Args = ListAgentsArgs;
    const NAME: &'static str = tool_name::LIST_AGENTS;
    const ABOUT: &'static str = include_str!("list_agents.md");
    const ACCESS: ToolAccess = ToolAccess::Read;

    fn place(_args: &ListAgentsArgs) -> ToolPlace {
        ToolPlace::Session
    }

    fn required_permissions(_args: &ListAgentsArgs) -> Result<Vec<RequiredPermission>, ToolError> {
        Ok(vec![RequiredPermission::Session])
    }

    async fn run(_args: ListAgentsArgs, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text(&cx.session()?.subagents.list().await?, cx))
    }
}
