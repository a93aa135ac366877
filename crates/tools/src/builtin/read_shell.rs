//! Shows the state and output of a background command.

use std::time::Duration;

use protocol::tool_name;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::args::TypedTool;
use crate::{
    BackgroundStatus, RequiredPermission, ToolAccess, ToolContext, ToolError, ToolOutput, ToolPlace, WaitLimit,
};

/// The `read_shell` tool.
pub(crate) struct ReadShell;

/// The arguments of `read_shell`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadShellArgs {
    /// The command's name.
    name: String,
    /// Wait this long for it to end.
    wait_secs: Option<u64>,
}

impl TypedTool for ReadShell {
    type Args = ReadShellArgs;
    const NAME: &'static str = tool_name::READ_SHELL;
    const ABOUT: &'static str = include_str!("read_shell.md");
    const ACCESS: ToolAccess = ToolAccess::Read;

    fn place(_args: &ReadShellArgs) -> ToolPlace {
        ToolPlace::Session
    }

    fn required_permissions(_args: &ReadShellArgs) -> Result<Vec<RequiredPermission>, ToolError> {
        Ok(vec![RequiredPermission::Session])
    }

    async fn run(args: ReadShellArgs, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let wait =
            args.wait_secs.map(|secs| WaitLimit::For(Duration::from_secs(secs).min(cx.limits.max_shell_timeout)));
        let status = tokio::select! {
            status = cx.session()?.background.read(args.name, wait.unwrap_or(WaitLimit::NoWait)) => status?,
            () = cx.cancel.cancelled() => return Err(ToolError::refused("cancelled; the command keeps running")),
        };
        Ok(status_output(&status, cx))
    }
}

/// A command's state and output, as the model reads them.
pub(crate) fn status_output(status: &BackgroundStatus, cx: &ToolContext) -> ToolOutput {
    ToolOutput::text(&format!("[{}]\n{}", status.state, status.output), cx)
}
