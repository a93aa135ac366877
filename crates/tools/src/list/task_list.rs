//! Lists the items.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::args::Typed;
use crate::{Access, Context, Need, Output, ToolError};

/// The `TaskList` tool.
pub(crate) struct TaskList;

/// The arguments of `TaskList`, which has none.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {}

impl Typed for TaskList {
    type Args = Args;
    const NAME: &'static str = "TaskList";
    const ABOUT: &'static str = include_str!("task_list.md");
    const ACCESS: Access = Access::Read;

    fn needs(_args: &Args) -> Result<Vec<Need>, ToolError> {
        Ok(vec![Need::Session])
    }

    async fn run(_args: Args, cx: &Context) -> Result<Output, ToolError> {
        Ok(Output::text(&cx.lists.list().await?, cx))
    }
}
