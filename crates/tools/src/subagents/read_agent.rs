//! Shows an agent's state and messages.

use std::time::Duration;

use protocol::tool_name;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::args::TypedTool;
use crate::{
    ReadAgentRequest, RequiredPermission, ToolAccess, ToolContext, ToolError, ToolOutput, ToolPlace, WaitLimit,
};

/// The `read_agent` tool.
pub(crate) struct ReadAgent;

/// The arguments of `read_agent`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadAgentArgs {
    /// Its id, name or path.
    agent: String,
    /// Wait until it is idle, or with `since_turn` until it has a message after that turn.
    #[serde(default)]
    wait: bool,
    /// Stop waiting after this long.
    timeout_secs: Option<u64>,
    /// Only messages after this turn.
    since_turn: Option<u32>,
}

/// Default time that a call waits.
const DEFAULT_WAIT: Duration = Duration::from_secs(600);

impl TypedTool for ReadAgent {
    type Args = ReadAgentArgs;
    const NAME: &'static str = tool_name::READ_AGENT;
    const ABOUT: &'static str = include_str!("read_agent.md");
    const ACCESS: ToolAccess = ToolAccess::Read;

    fn place(_args: &ReadAgentArgs) -> ToolPlace {
        ToolPlace::Session
    }

    fn required_permissions(_args: &ReadAgentArgs) -> Result<Vec<RequiredPermission>, ToolError> {
        Ok(vec![RequiredPermission::Session])
    }

    async fn run(args: ReadAgentArgs, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let time = args.timeout_secs.map_or(DEFAULT_WAIT, Duration::from_secs);
        let wait = if args.wait { WaitLimit::For(time) } else { WaitLimit::NoWait };
        let request = ReadAgentRequest { agent: args.agent, wait, since_turn: args.since_turn };
        Ok(ToolOutput::text(&cx.session()?.subagents.read(request).await?, cx))
    }
}
