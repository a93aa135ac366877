//! Stores the session's plan.

use protocol::tool_name;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::args::TypedTool;
use crate::{RequiredPermission, ToolAccess, ToolContext, ToolError, ToolOutput, ToolPlace};

/// The `write_plan` tool.
pub(crate) struct WritePlan;

/// The arguments of `write_plan`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WritePlanArgs {
    /// The whole plan, in Markdown; replaces the previous one.
    text: String,
}

/// Maximum bytes of a plan.
const MAX_PLAN_BYTES: usize = 64 * 1024;

impl TypedTool for WritePlan {
    type Args = WritePlanArgs;
    const NAME: &'static str = tool_name::WRITE_PLAN;
    const ABOUT: &'static str = include_str!("write_plan.md");
    const ACCESS: ToolAccess = ToolAccess::Session;

    fn place(_args: &WritePlanArgs) -> ToolPlace {
        ToolPlace::Session
    }

    fn required_permissions(args: &WritePlanArgs) -> Result<Vec<RequiredPermission>, ToolError> {
        check_plan(args).map(|_| vec![RequiredPermission::Session])
    }

    async fn run(args: WritePlanArgs, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        cx.session()?.session_control.write_plan(check_plan(&args)?.to_owned()).await?;
        Ok(ToolOutput::text("The plan is saved.", cx))
    }
}

fn check_plan(args: &WritePlanArgs) -> Result<&str, ToolError> {
    match args.text.len() {
        _ if args.text.trim().is_empty() => Err(ToolError::refused("`text` is empty")),
        length if length > MAX_PLAN_BYTES => Err(ToolError::refused(format!(
            "`text` has {length} bytes, and a plan at most {MAX_PLAN_BYTES}; shorten it"
        ))),
        _fits => Ok(&args.text),
    }
}
