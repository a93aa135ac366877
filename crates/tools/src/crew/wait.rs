//! Waits for agents and background commands.

use std::time::Duration;

use protocol::WaitMode;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::args::Typed;
use crate::{Access, Context, Need, Output, ToolError, WaitOrder};

/// The `wait` tool.
pub(crate) struct WaitFor;

/// The arguments of `wait`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Agents and background commands; all that are under way when left out.
    #[serde(default)]
    on: Vec<String>,
    /// `any` or `all` (usual).
    mode: Option<String>,
    /// Give up after this long.
    timeout_secs: Option<u64>,
}

impl Typed for WaitFor {
    type Args = Args;
    const NAME: &'static str = "wait";
    const ABOUT: &'static str = include_str!("wait.md");
    const ACCESS: Access = Access::Session;

    fn needs(_args: &Args) -> Result<Vec<Need>, ToolError> {
        Ok(vec![Need::Session])
    }

    async fn run(args: Args, cx: &Context) -> Result<Output, ToolError> {
        let mode = match args.mode.as_deref() {
            None | Some("all") => WaitMode::All,
            Some("any") => WaitMode::Any,
            Some(other) => {
                return Err(ToolError::refused(format!("`mode` is `{other}`, and there are only: any, all")));
            }
        };
        let order = WaitOrder { on: args.on, mode, time: args.timeout_secs.map(Duration::from_secs) };
        Ok(Output::text(&cx.crew.wait(order).await?, cx))
    }
}
