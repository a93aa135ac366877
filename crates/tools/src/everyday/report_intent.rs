//! Tells people what the agent is doing.

use protocol::Clip;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::args::Typed;
use crate::{Access, Context, Need, Output, ToolError};

/// The `report_intent` tool.
pub(crate) struct ReportIntent;

/// The arguments of `report_intent`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// One short line, e.g. `Fixing the parser test`.
    intent: String,
}

/// Most bytes of an intent.
const MOST: usize = 200;

impl Typed for ReportIntent {
    type Args = Args;
    const NAME: &'static str = "report_intent";
    const ABOUT: &'static str = include_str!("report_intent.md");
    const ACCESS: Access = Access::Session;

    fn needs(_args: &Args) -> Result<Vec<Need>, ToolError> {
        Ok(vec![Need::Session])
    }

    async fn run(args: Args, cx: &Context) -> Result<Output, ToolError> {
        let Some(line) = args.intent.lines().map(str::trim).find(|line| !line.is_empty()) else {
            return Err(ToolError::refused("`intent` is empty; say in one line what you are about to do"));
        };
        cx.intent.report(Clip::new(line, MOST)).await?;
        Ok(Output::text("noted", cx))
    }
}
