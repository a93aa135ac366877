//! Lists the items.

use protocol::tool_name;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::args::TypedTool;
use crate::{RequiredPermission, ToolAccess, ToolContext, ToolError, ToolOutput, ToolPlace};

/// The `TaskList` tool.
pub(crate) struct TaskList;

/// The arguments of `TaskList`, which has none.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TaskListToolArgs {}

impl TypedTool for TaskList {
    type Args = TaskListToolArgs;
    const NAME: &'static str = tool_name::TASK_LIST;
    const ABOUT: &'static str = include_str!("task_list.md");
    const ACCESS: ToolAccess = ToolAccess::Read;

    fn place(_args: &TaskListToolArgs) -> ToolPlace {
        ToolPlace::Session
    }

    fn required_permissions(_args: &TaskListToolArgs) -> Result<Vec<RequiredPermission>, ToolError> {
        Ok(vec![RequiredPermission::Session])
    }

    async fn run(_args: TaskListToolArgs, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text(&cx.session()?.shared_list.list().await?, cx))
    }
}
