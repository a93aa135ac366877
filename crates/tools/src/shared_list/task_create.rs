//! Creates an item.

use protocol::tool_name;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::args::TypedTool;
use crate::{CreateItemRequest, RequiredPermission, ToolAccess, ToolContext, ToolError, ToolOutput, ToolPlace};

/// The `TaskCreate` tool.
pub(crate) struct TaskCreate;

/// The arguments of `TaskCreate`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TaskCreateArgs {
    /// The work to do, in one line.
    subject: String,
    /// What its owner must know.
    description: String,
    /// The work in progress, such as `Running tests`.
    #[serde(rename = "activeForm")]
    active_form: Option<String>,
    /// Additional fields to store.
    #[serde(default)]
    metadata: Map<String, Value>,
}

impl TypedTool for TaskCreate {
    type Args = TaskCreateArgs;
    const NAME: &'static str = tool_name::TASK_CREATE;
    const ABOUT: &'static str = include_str!("task_create.md");
    const ACCESS: ToolAccess = ToolAccess::Session;

    fn place(_args: &TaskCreateArgs) -> ToolPlace {
        ToolPlace::Session
    }

    fn required_permissions(_args: &TaskCreateArgs) -> Result<Vec<RequiredPermission>, ToolError> {
        Ok(vec![RequiredPermission::Session])
    }

    async fn run(args: TaskCreateArgs, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let TaskCreateArgs { subject, description, active_form, metadata } = args;
        let request = CreateItemRequest { subject, description, active_form, metadata };
        Ok(ToolOutput::text(&cx.session()?.shared_list.create(request).await?, cx))
    }
}
