//! Lists agents.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::args::Typed;
use crate::{Access, Context, Need, Output, ToolError};

/// The `list_agents` tool.
pub(crate) struct ListAgents;

/// The arguments of `list_agents`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {}

impl Typed for ListAgents {
    type Args = Args;
    const NAME: &'static str = "list_agents";
    const ABOUT: &'static str = include_str!("list_agents.md");
    const ACCESS: Access = Access::Read;

    fn needs(_args: &Args) -> Result<Vec<Need>, ToolError> {
        Ok(vec![Need::Session])
    }

    async fn run(_args: Args, cx: &Context) -> Result<Output, ToolError> {
        Ok(Output::text(&cx.crew.list().await?, cx))
    }
}
