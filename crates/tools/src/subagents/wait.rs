//! Waits for agents and background commands.

use std::time::Duration;

use protocol::{WaitMode, tool_name};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::args::TypedTool;
use crate::{RequiredPermission, ToolAccess, ToolContext, ToolError, ToolOutput, ToolPlace, WaitRequest};

/// The `wait` tool.
pub(crate) struct WaitFor;

/// The arguments of `wait`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WaitForArgs {
    /// Agents and background commands; all running ones by default.
    #[serde(default)]
    on: Vec<String>,
    /// `any` or `all` (default).
    mode: Option<String>,
    /// Stop waiting after this long.
    timeout_secs: Option<u64>,
}

impl TypedTool for WaitFor {
    type Args = WaitForArgs;
    const NAME: &'static str = tool_name::WAIT;
    const ABOUT: &'static str = include_str!("wait.md");
    const ACCESS: ToolAccess = ToolAccess::Session;

    fn place(_args: &WaitForArgs) -> ToolPlace {
        ToolPlace::Session
    }

    fn required_permissions(_args: &WaitForArgs) -> Result<Vec<RequiredPermission>, ToolError> {
        Ok(vec![RequiredPermission::Session])
    }

    async fn run(args: WaitForArgs, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let mode = match args.mode.as_deref() {
            None | Some("all") => WaitMode::All,
            Some("any") => WaitMode::Any,
            Some(other) => {
                return Err(ToolError::refused(format!("`mode` is `{other}`; use only: any, all")));
            }
        };
        let request = WaitRequest { targets: args.on, mode, timeout: args.timeout_secs.map(Duration::from_secs) };
        Ok(ToolOutput::text(&cx.session()?.subagents.wait(request).await?, cx))
    }
}
