//! Stops an agent.

use protocol::{CancelMode, tool_name};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::args::TypedTool;
use crate::{RequiredPermission, ToolAccess, ToolContext, ToolError, ToolOutput, ToolPlace};

/// The `stop_agent` tool.
pub(crate) struct StopAgent;

/// The arguments of `stop_agent`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StopAgentArgs {
    /// Its id, name or path.
    agent: String,
    /// At once, without a last answer.
    #[serde(default)]
    now: bool,
}

impl TypedTool for StopAgent {
    type Args = StopAgentArgs;
    const NAME: &'static str = tool_name::STOP_AGENT;
    const ABOUT: &'static str = include_str!("stop_agent.md");
    const ACCESS: ToolAccess = ToolAccess::Session;

    fn place(_args: &StopAgentArgs) -> ToolPlace {
        ToolPlace::Session
    }

    fn required_permissions(_args: &StopAgentArgs) -> Result<Vec<RequiredPermission>, ToolError> {
        Ok(vec![RequiredPermission::Session])
    }

    async fn run(args: StopAgentArgs, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let mode = if args.now { CancelMode::Abort } else { CancelMode::WrapUp };
        Ok(ToolOutput::text(&cx.session()?.subagents.stop(args.agent, mode).await?, cx))
    }
}
