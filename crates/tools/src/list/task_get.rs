//! Shows an item or a task.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::waiting;
use crate::args::Typed;
use crate::{Access, Context, Need, Output, ToolError};

/// The `TaskGet` tool.
pub(crate) struct TaskGet;

/// The arguments of `TaskGet`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The number of an item; or the id, name or path of an agent or background command.
    #[serde(rename = "taskId")]
    task_id: String,
    /// Wait until it changes or ends.
    #[serde(default)]
    wait: bool,
    /// Give up waiting after so many milliseconds; 10 minutes when left out.
    timeout: Option<u64>,
}

/// How long a call waits when it does not say.
const USUAL: Duration = Duration::from_secs(600);

impl Typed for TaskGet {
    type Args = Args;
    const NAME: &'static str = "TaskGet";
    const ABOUT: &'static str = include_str!("task_get.md");
    const ACCESS: Access = Access::Read;

    fn needs(_args: &Args) -> Result<Vec<Need>, ToolError> {
        Ok(vec![Need::Session])
    }

    async fn run(args: Args, cx: &Context) -> Result<Output, ToolError> {
        let wait = waiting(args.wait, args.timeout, USUAL);
        Ok(Output::text(&cx.lists.get(args.task_id, wait).await?, cx))
    }
}
