//! Stops a background command.

use protocol::tool_name;
use schemars::JsonSchema;
use serde::Deserialize;

use super::read_shell::status_output;
use crate::args::TypedTool;
use crate::{RequiredPermission, ToolAccess, ToolContext, ToolError, ToolOutput, ToolPlace};

/// The `stop_shell` tool.
pub(crate) struct StopShell;

/// The arguments of `stop_shell`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StopShellArgs {
    /// The command's name.
    name: String,
}

impl TypedTool for StopShell {
    type Args = StopShellArgs;
    const NAME: &'static str = tool_name::STOP_SHELL;
    const ABOUT: &'static str = include_str!("stop_shell.md");
    const ACCESS: ToolAccess = ToolAccess::Session;

    fn place(_args: &StopShellArgs) -> ToolPlace {
        ToolPlace::Session
    }

    fn required_permissions(_args: &StopShellArgs) -> Result<Vec<RequiredPermission>, ToolError> {
        Ok(vec![RequiredPermission::Session])
    }

    async fn run(args: StopShellArgs, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let status = cx.session()?.background.stop(args.name).await?;
        Ok(status_output(&status, cx))
    }
}
