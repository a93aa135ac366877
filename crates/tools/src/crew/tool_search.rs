//! Finds tools that the model was not told of.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::args::Typed;
use crate::{Access, Context, Need, Output, ToolError};

/// The `tool_search` tool.
pub(crate) struct ToolSearch;

/// The arguments of `tool_search`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Names, or words that describe what you need.
    query: String,
}

impl Typed for ToolSearch {
    type Args = Args;
    const NAME: &'static str = "tool_search";
    const ABOUT: &'static str = include_str!("tool_search.md");
    const ACCESS: Access = Access::Session;

    fn needs(_args: &Args) -> Result<Vec<Need>, ToolError> {
        Ok(vec![Need::Session])
    }

    async fn run(args: Args, cx: &Context) -> Result<Output, ToolError> {
        Ok(Output::text(&cx.crew.load(args.query).await?, cx))
    }
}
