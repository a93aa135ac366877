//! Looks at a background command.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::args::Typed;
use crate::{Access, BackgroundRead, Context, Need, Output, ToolError, Wait};

/// The `read_shell` tool.
pub(crate) struct ReadShell;

/// The arguments of `read_shell`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The command's name.
    name: String,
    /// Wait this long for it to end.
    wait_secs: Option<u64>,
}

impl Typed for ReadShell {
    type Args = Args;
    const NAME: &'static str = "read_shell";
    const ABOUT: &'static str = include_str!("read_shell.md");
    const ACCESS: Access = Access::Read;

    fn needs(_args: &Args) -> Result<Vec<Need>, ToolError> {
        Ok(vec![Need::Session])
    }

    async fn run(args: Args, cx: &Context) -> Result<Output, ToolError> {
        let wait = args.wait_secs.map(|secs| Wait::For(Duration::from_secs(secs).min(cx.limits.shell_max)));
        let read = tokio::select! {
            read = cx.background.read(args.name, wait.unwrap_or(Wait::No)) => read?,
            () = cx.cancel.cancelled() => return Err(ToolError::refused("cancelled; the command runs on")),
        };
        Ok(described(&read, cx))
    }
}

/// A command's state and output, as the model reads them.
pub(crate) fn described(read: &BackgroundRead, cx: &Context) -> Output {
    Output::text(&format!("[{}]\n{}", read.state, read.output), cx)
}
