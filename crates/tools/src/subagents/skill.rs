//! Loads a skill.

use protocol::tool_name;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::args::TypedTool;
use crate::{RequiredPermission, ToolAccess, ToolContext, ToolError, ToolOutput, ToolPlace};

/// The `skill` tool.
pub(crate) struct LoadSkill;

/// The arguments of `skill`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LoadSkillArgs {
    /// Its name.
    name: String,
}

impl TypedTool for LoadSkill {
    type Args = LoadSkillArgs;
    const NAME: &'static str = tool_name::SKILL;
    const ABOUT: &'static str = include_str!("skill.md");
    const ACCESS: ToolAccess = ToolAccess::Read;

    fn place(_args: &LoadSkillArgs) -> ToolPlace {
        ToolPlace::Session
    }

    fn required_permissions(_args: &LoadSkillArgs) -> Result<Vec<RequiredPermission>, ToolError> {
        Ok(vec![RequiredPermission::Session])
    }

    async fn run(args: LoadSkillArgs, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text(&cx.session()?.subagents.load_skill(args.name).await?, cx))
    }
}
