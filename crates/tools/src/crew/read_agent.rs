//! Looks at an agent.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::args::Typed;
use crate::{Access, Context, Need, Output, ReadOrder, ToolError, Wait};

/// The `read_agent` tool.
pub(crate) struct ReadAgent;

/// The arguments of `read_agent`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Its id, name or path.
    agent: String,
    /// Wait until it rests, or with `since_turn` until it has said something after that turn.
    #[serde(default)]
    wait: bool,
    /// Give up waiting after this long.
    timeout_secs: Option<u64>,
    /// Only what it said after this turn.
    since_turn: Option<u32>,
}

/// How long a reader waits when it does not say.
const USUAL: Duration = Duration::from_secs(600);

impl Typed for ReadAgent {
    type Args = Args;
    const NAME: &'static str = "read_agent";
    const ABOUT: &'static str = include_str!("read_agent.md");
    const ACCESS: Access = Access::Read;

    fn needs(_args: &Args) -> Result<Vec<Need>, ToolError> {
        Ok(vec![Need::Session])
    }

    async fn run(args: Args, cx: &Context) -> Result<Output, ToolError> {
        let time = args.timeout_secs.map_or(USUAL, Duration::from_secs);
        let wait = if args.wait { Wait::For(time) } else { Wait::No };
        let order = ReadOrder { agent: args.agent, wait, since_turn: args.since_turn };
        Ok(Output::text(&cx.crew.read(order).await?, cx))
    }
}
