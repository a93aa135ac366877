//! Loads a skill.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::args::Typed;
use crate::{Access, Context, Need, Output, ToolError};

/// The `skill` tool.
pub(crate) struct LoadSkill;

/// The arguments of `skill`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Its name.
    name: String,
}

impl Typed for LoadSkill {
    type Args = Args;
    const NAME: &'static str = "skill";
    const ABOUT: &'static str = include_str!("skill.md");
    const ACCESS: Access = Access::Read;

    fn needs(_args: &Args) -> Result<Vec<Need>, ToolError> {
        Ok(vec![Need::Session])
    }

    async fn run(args: Args, cx: &Context) -> Result<Output, ToolError> {
        Ok(Output::text(&cx.crew.skill(args.name).await?, cx))
    }
}
