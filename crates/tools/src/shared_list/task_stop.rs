//! Stops a task.

use protocol::tool_name;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::args::TypedTool;
use crate::{RequiredPermission, ToolAccess, ToolContext, ToolError, ToolOutput, ToolPlace};

/// The `TaskStop` tool.
pub(crate) struct TaskStop;

/// The arguments of `TaskStop`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TaskStopArgs {
    /// The id, name or path of an agent or background command.
    task_id: String,
}

impl TypedTool for TaskStop {
    type Args = TaskStopArgs;
    const NAME: &'static str = tool_name::TASK_STOP;
    const ABOUT: &'static str = include_str!("task_stop.md");
    const ACCESS: ToolAccess = ToolAccess::Session;

    fn place(_args: &TaskStopArgs) -> ToolPlace {
        ToolPlace::Session
    }

    fn required_permissions(_args: &TaskStopArgs) -> Result<Vec<RequiredPermission>, ToolError> {
        Ok(vec![RequiredPermission::Session])
    }

    async fn run(args: TaskStopArgs, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text(&cx.session()?.shared_list.stop(args.task_id).await?, cx))
    }
}
