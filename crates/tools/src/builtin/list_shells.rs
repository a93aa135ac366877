//! Lists the background commands.

use protocol::tool_name;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::args::TypedTool;
use crate::{RequiredPermission, ToolAccess, ToolContext, ToolError, ToolOutput, ToolPlace};

/// The `list_shells` tool.
pub(crate) struct ListShells;

/// The arguments of `list_shells`: none.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListShellsArgs {}

impl TypedTool for ListShells {
    type Args = ListShellsArgs;
    const NAME: &'static str = tool_name::LIST_SHELLS;
    const ABOUT: &'static str = include_str!("list_shells.md");
    const ACCESS: ToolAccess = ToolAccess::Read;

    fn place(_args: &ListShellsArgs) -> ToolPlace {
        ToolPlace::Session
    }

    fn required_permissions(_args: &ListShellsArgs) -> Result<Vec<RequiredPermission>, ToolError> {
        Ok(vec![RequiredPermission::Session])
    }

    async fn run(ListShellsArgs {}: ListShellsArgs, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let rows = cx.session()?.background.list().await?;
        let lines: Vec<String> =
            rows.iter().map(|row| format!("{} [{}] {}", row.name, row.state, row.description)).collect();
        let text = if lines.is_empty() { "no background commands".to_owned() } else { lines.join("\n") };
        Ok(ToolOutput::text(&text, cx))
    }
}
