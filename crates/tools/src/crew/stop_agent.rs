//! Stops an agent.

use protocol::Cancel;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::args::Typed;
use crate::{Access, Context, Need, Output, ToolError};

/// The `stop_agent` tool.
pub(crate) struct StopAgent;

/// The arguments of `stop_agent`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Its id, name or path.
    agent: String,
    /// At once, without a last answer.
    #[serde(default)]
    now: bool,
}

impl Typed for StopAgent {
    type Args = Args;
    const NAME: &'static str = "stop_agent";
    const ABOUT: &'static str = include_str!("stop_agent.md");
    const ACCESS: Access = Access::Session;

    fn needs(_args: &Args) -> Result<Vec<Need>, ToolError> {
        Ok(vec![Need::Session])
    }

    async fn run(args: Args, cx: &Context) -> Result<Output, ToolError> {
        let how = if args.now { Cancel::Abort } else { Cancel::WrapUp };
        Ok(Output::text(&cx.crew.stop(args.agent, how).await?, cx))
    }
}
