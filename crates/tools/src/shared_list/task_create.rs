//! Makes an item.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::args::TypedTool;
use crate::{CreateItemRequest, RequiredPermission, ToolAccess, ToolContext, ToolError, ToolOutput};

/// The `TaskCreate` tool.
pub(crate) struct TaskCreate;

/// The arguments of `TaskCreate`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TaskCreateArgs {
    /// What is to be done, in one line.
    subject: String,
    /// What whoever does it must know.
    description: String,
    /// What somebody is doing while it is done, such as `Running tests`.
    #[serde(rename = "activeForm")]
    active_form: Option<String>,
    /// Whatever else is to be kept with it.
    #[serde(default)]
    metadata: Map<String, Value>,
}

impl TypedTool for TaskCreate {
    type Args = TaskCreateArgs;
    const NAME: &'static str = "TaskCreate";
    const ABOUT: &'static str = include_str!("task_create.md");
    const ACCESS: ToolAccess = ToolAccess::Session;

    fn required_permissions(_args: &TaskCreateArgs) -> Result<Vec<RequiredPermission>, ToolError> {
        Ok(vec![RequiredPermission::Session])
    }

    async fn run(args: TaskCreateArgs, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let TaskCreateArgs { subject, description, active_form, metadata } = args;
        let order = CreateItemRequest { subject, description, active_form, metadata };
        Ok(ToolOutput::text(&cx.shared_list.create(order).await?, cx))
    }
}
