//! Tells the user what the agent is doing.

use protocol::{Clip, tool_name};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::args::TypedTool;
use crate::{RequiredPermission, ToolAccess, ToolContext, ToolError, ToolOutput, ToolPlace};

/// The `report_intent` tool.
pub(crate) struct ReportIntent;

/// The arguments of `report_intent`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReportIntentArgs {
    /// One short line, e.g. `Fixing the parser test`.
    intent: String,
}

/// Maximum bytes of an intent.
const MAX_INTENT_BYTES: usize = 200;

impl TypedTool for ReportIntent {
    type Args = ReportIntentArgs;
    const NAME: &'static str = tool_name::REPORT_INTENT;
    const ABOUT: &'static str = include_str!("report_intent.md");
    const ACCESS: ToolAccess = ToolAccess::Session;

    fn place(_args: &ReportIntentArgs) -> ToolPlace {
        ToolPlace::Session
    }

    fn required_permissions(_args: &ReportIntentArgs) -> Result<Vec<RequiredPermission>, ToolError> {
        Ok(vec![RequiredPermission::Session])
    }

    async fn run(args: ReportIntentArgs, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let Some(line) = args.intent.lines().map(str::trim).find(|line| !line.is_empty()) else {
            return Err(ToolError::refused("`intent` is empty; say in one line what you are about to do"));
        };
        cx.session()?.intent.report(Clip::new(line, MAX_INTENT_BYTES)).await?;
        Ok(ToolOutput::text("noted", cx))
    }
}
