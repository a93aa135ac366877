//! Stops a background command.

use schemars::JsonSchema;
use serde::Deserialize;

use super::read_shell::described;
use crate::args::Typed;
use crate::{Access, Context, Need, Output, ToolError};

/// The `stop_shell` tool.
pub(crate) struct StopShell;

/// The arguments of `stop_shell`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The command's name.
    name: String,
}

impl Typed for StopShell {
    type Args = Args;
    const NAME: &'static str = "stop_shell";
    const ABOUT: &'static str = include_str!("stop_shell.md");
    const ACCESS: Access = Access::Session;

    fn needs(_args: &Args) -> Result<Vec<Need>, ToolError> {
        Ok(vec![Need::Session])
    }

    async fn run(args: Args, cx: &Context) -> Result<Output, ToolError> {
        let read = cx.background.stop(args.name).await?;
        Ok(described(&read, cx))
    }
}
