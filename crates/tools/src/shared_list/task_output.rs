//! Shows a task's output.

use std::time::Duration;

use protocol::tool_name;
use schemars::JsonSchema;
use serde::Deserialize;

use super::wait_limit;
use crate::args::TypedTool;
use crate::{RequiredPermission, ToolAccess, ToolContext, ToolError, ToolOutput, ToolPlace};

/// The `TaskOutput` tool.
pub(crate) struct TaskOutput;

/// The arguments of `TaskOutput`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TaskOutputArgs {
    /// The id, name or path of an agent or background command.
    task_id: String,
    /// Wait until it ends; true by default.
    block: Option<bool>,
    /// Stop waiting after this many milliseconds; 30 seconds by default.
    timeout: Option<u64>,
}

/// Default time that a call waits.
const DEFAULT_WAIT: Duration = Duration::from_secs(30);

impl TypedTool for TaskOutput {
    type Args = TaskOutputArgs;
    const NAME: &'static str = tool_name::TASK_OUTPUT;
    const ABOUT: &'static str = include_str!("task_output.md");
    const ACCESS: ToolAccess = ToolAccess::Read;

    fn place(_args: &TaskOutputArgs) -> ToolPlace {
        ToolPlace::Session
    }

    fn required_permissions(_args: &TaskOutputArgs) -> Result<Vec<RequiredPermission>, ToolError> {
        Ok(vec![RequiredPermission::Session])
    }

    async fn run(args: TaskOutputArgs, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let wait = wait_limit(args.block.unwrap_or(true), args.timeout, DEFAULT_WAIT);
        Ok(ToolOutput::text(&cx.session()?.shared_list.output(args.task_id, wait).await?, cx))
    }
}
