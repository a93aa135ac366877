//! Lists the background commands.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::args::Typed;
use crate::{Access, Context, Need, Output, ToolError};

/// The `list_shells` tool.
pub(crate) struct ListShells;

/// The arguments of `list_shells`: none.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {}

impl Typed for ListShells {
    type Args = Args;
    const NAME: &'static str = "list_shells";
    const ABOUT: &'static str = include_str!("list_shells.md");
    const ACCESS: Access = Access::Read;

    fn needs(_args: &Args) -> Result<Vec<Need>, ToolError> {
        Ok(vec![Need::Session])
    }

    async fn run(Args {}: Args, cx: &Context) -> Result<Output, ToolError> {
        let rows = cx.background.list().await?;
        let lines: Vec<String> =
            rows.iter().map(|row| format!("{} [{}] {}", row.name, row.state, row.description)).collect();
        let text = if lines.is_empty() { "no background commands".to_owned() } else { lines.join("\n") };
        Ok(Output::text(&text, cx))
    }
}
