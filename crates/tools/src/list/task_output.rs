//! Shows what a task printed or said.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::waiting;
use crate::args::Typed;
use crate::{Access, Context, Need, Output, ToolError};

/// The `TaskOutput` tool.
pub(crate) struct TaskOutput;

/// The arguments of `TaskOutput`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The id, name or path of an agent or background command.
    task_id: String,
    /// Wait until it ends; true when left out.
    block: Option<bool>,
    /// Give up waiting after so many milliseconds; 30 seconds when left out.
    timeout: Option<u64>,
}

/// How long a call waits when it does not say.
const USUAL: Duration = Duration::from_secs(30);

impl Typed for TaskOutput {
    type Args = Args;
    const NAME: &'static str = "TaskOutput";
    const ABOUT: &'static str = include_str!("task_output.md");
    const ACCESS: Access = Access::Read;

    fn needs(_args: &Args) -> Result<Vec<Need>, ToolError> {
        Ok(vec![Need::Session])
    }

    async fn run(args: Args, cx: &Context) -> Result<Output, ToolError> {
        let wait = waiting(args.block.unwrap_or(true), args.timeout, USUAL);
        Ok(Output::text(&cx.lists.output(args.task_id, wait).await?, cx))
    }
}
