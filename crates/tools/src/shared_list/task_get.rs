//! Shows an item or a task.

use std::time::Duration;

use protocol::tool_name;
use schemars::JsonSchema;
use serde::Deserialize;

use super::wait_limit;
use crate::args::TypedTool;
use crate::{RequiredPermission, ToolAccess, ToolContext, ToolError, ToolOutput, ToolPlace};

/// The `TaskGet` tool.
pub(crate) struct TaskGet;

/// The arguments of `TaskGet`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TaskGetArgs {
    /// The number of an item; or the id, name or path of an agent or background command.
    #[serde(rename = "taskId")]
    task_id: String,
    /// Wait until it changes or ends.
    #[serde(default)]
    wait: bool,
    /// Stop waiting after this many milliseconds; 10 minutes by default.
    timeout: Option<u64>,
}

/// Default time that a call waits.
const DEFAULT_WAIT: Duration = Duration::from_secs(600);

impl TypedTool for TaskGet {
    type Args = TaskGetArgs;
    const NAME: &'static str = tool_name::TASK_GET;
    const ABOUT: &'static str = include_str!("task_get.md");
    const ACCESS: ToolAccess = ToolAccess::Read;

    fn place(_args: &TaskGetArgs) -> ToolPlace {
        ToolPlace::Session
    }

    fn required_permissions(_args: &TaskGetArgs) -> Result<Vec<RequiredPermission>, ToolError> {
        Ok(vec![RequiredPermission::Session])
    }

    async fn run(args: TaskGetArgs, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let wait = wait_limit(args.wait, args.timeout, DEFAULT_WAIT);
        Ok(ToolOutput::text(&cx.session()?.shared_list.get(args.task_id, wait).await?, cx))
    }
}
