//! Keeps the session's plan.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::args::Typed;
use crate::{Access, Context, Need, Output, ToolError};

/// The `write_plan` tool.
pub(crate) struct WritePlan;

/// The arguments of `write_plan`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The whole plan, in Markdown; it replaces the one before.
    text: String,
}

/// Most bytes of a plan.
const PLAN: usize = 64 * 1024;

impl Typed for WritePlan {
    type Args = Args;
    const NAME: &'static str = "write_plan";
    const ABOUT: &'static str = include_str!("write_plan.md");
    const ACCESS: Access = Access::Session;

    fn needs(args: &Args) -> Result<Vec<Need>, ToolError> {
        plan(args).map(|_| vec![Need::Session])
    }

    async fn run(args: Args, cx: &Context) -> Result<Output, ToolError> {
        cx.helm.write_plan(plan(&args)?.to_owned()).await?;
        Ok(Output::text("The plan is kept.", cx))
    }
}

fn plan(args: &Args) -> Result<&str, ToolError> {
    match args.text.len() {
        _ if args.text.trim().is_empty() => Err(ToolError::refused("`text` is empty")),
        length if length > PLAN => {
            Err(ToolError::refused(format!("`text` has {length} bytes, and a plan at most {PLAN}; write less")))
        }
        _fits => Ok(&args.text),
    }
}
