//! Finds tools that are not in the model's requests.

use protocol::tool_name;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::args::TypedTool;
use crate::{RequiredPermission, ToolAccess, ToolContext, ToolError, ToolOutput, ToolPlace};

/// The `tool_search` tool.
pub(crate) struct ToolSearch;

/// The arguments of `tool_search`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToolSearchArgs {
    /// Names, or words that describe what you need.
    query: String,
}

impl TypedTool for ToolSearch {
    type Args = ToolSearchArgs;
    const NAME: &'static str = tool_name::TOOL_SEARCH;
    const ABOUT: &'static str = include_str!("tool_search.md");
    const ACCESS: ToolAccess = ToolAccess::Session;

    fn place(_args: &ToolSearchArgs) -> ToolPlace {
        ToolPlace::Session
    }

    fn required_permissions(_args: &ToolSearchArgs) -> Result<Vec<RequiredPermission>, ToolError> {
        Ok(vec![RequiredPermission::Session])
    }

    async fn run(args: ToolSearchArgs, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text(&cx.session()?.subagents.search_tools(args.query).await?, cx))
    }
}
