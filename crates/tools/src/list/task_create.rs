//! Makes an item.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::args::Typed;
use crate::{Access, Context, ItemOrder, Need, Output, ToolError};

/// The `TaskCreate` tool.
pub(crate) struct TaskCreate;

/// The arguments of `TaskCreate`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// What is to be done, in one line.
    subject: String,
    /// What whoever does it must know.
    description: String,
    /// What somebody is doing while it is done, such as `Running tests`.
    #[serde(rename = "activeForm")]
    active_form: Option<String>,
    /// Whatever else is to be kept with it.
    #[serde(default)]
    metadata: Map<String, Value>,
}

impl Typed for TaskCreate {
    type Args = Args;
    const NAME: &'static str = "TaskCreate";
    const ABOUT: &'static str = include_str!("task_create.md");
    const ACCESS: Access = Access::Session;

    fn needs(_args: &Args) -> Result<Vec<Need>, ToolError> {
        Ok(vec![Need::Session])
    }

    async fn run(args: Args, cx: &Context) -> Result<Output, ToolError> {
        let Args { subject, description, active_form, metadata } = args;
        let order = ItemOrder { subject, description, active_form, metadata };
        Ok(Output::text(&cx.lists.create(order).await?, cx))
    }
}
