//! Stops a task.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::args::Typed;
use crate::{Access, Context, Need, Output, ToolError};

/// The `TaskStop` tool.
pub(crate) struct TaskStop;

/// The arguments of `TaskStop`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The id, name or path of an agent or background command.
    task_id: String,
}

impl Typed for TaskStop {
    type Args = Args;
    const NAME: &'static str = "TaskStop";
    const ABOUT: &'static str = include_str!("task_stop.md");
    const ACCESS: Access = Access::Session;

    fn needs(_args: &Args) -> Result<Vec<Need>, ToolError> {
        Ok(vec![Need::Session])
    }

    async fn run(args: Args, cx: &Context) -> Result<Output, ToolError> {
        Ok(Output::text(&cx.lists.stop(args.task_id).await?, cx))
    }
}
