//! Waits for a command to succeed.

use std::time::Duration;

use protocol::tool_name;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::args::TypedTool;
use crate::{RequiredPermission, ToolAccess, ToolContext, ToolError, ToolOutput, ToolPlace, WaitUntilRequest};

/// The `until` tool.
pub(crate) struct UntilTool;

/// The arguments of `until`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UntilArgs {
    /// The command to repeat.
    command: String,
    /// Seconds between two runs; 5 by default.
    every_secs: Option<u64>,
    /// Stop after this long; an hour by default.
    timeout_secs: Option<u64>,
}

/// Default time limit.
const DEFAULT_WAIT: Duration = Duration::from_secs(3600);

impl TypedTool for UntilTool {
    type Args = UntilArgs;
    const NAME: &'static str = tool_name::UNTIL;
    const ABOUT: &'static str = include_str!("until.md");
    const ACCESS: ToolAccess = ToolAccess::Execute;

    fn place(_args: &UntilArgs) -> ToolPlace {
        ToolPlace::Session
    }

    fn required_permissions(args: &UntilArgs) -> Result<Vec<RequiredPermission>, ToolError> {
        if args.command.trim().is_empty() {
            return Err(ToolError::refused("`command` is empty"));
        }
        Ok(vec![RequiredPermission::Shell(args.command.clone())])
    }

    async fn run(args: UntilArgs, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let every = Duration::from_secs(args.every_secs.unwrap_or(5).max(1));
        let time = args.timeout_secs.map_or(DEFAULT_WAIT, Duration::from_secs);
        Ok(ToolOutput::text(
            &cx.session()?
                .subagents
                .wait_until(WaitUntilRequest { command: args.command, interval: every, timeout: time })
                .await?,
            cx,
        ))
    }
}
