//! Asks the user how to continue with the finished plan.

use protocol::{PlanAction, tool_name};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::args::TypedTool;
use crate::text::visible_text;
use crate::{PlanExitRequest, RequiredPermission, ToolAccess, ToolContext, ToolError, ToolOutput, ToolPlace};

/// The `exit_plan_mode` tool.
pub(crate) struct ExitPlanMode;

/// The arguments of `exit_plan_mode`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExitPlanModeArgs {
    /// The plan in a few sentences.
    summary: String,
    /// Choices to offer, of `interactive`, `autopilot`, `autopilot_fleet` and `exit_only`; all when absent.
    actions: Option<Vec<String>>,
    /// The one of them that you would choose.
    recommended: Option<String>,
}

/// Maximum characters of a summary.
const MAX_SUMMARY_CHARS: usize = 2000;

impl TypedTool for ExitPlanMode {
    type Args = ExitPlanModeArgs;
    const NAME: &'static str = tool_name::EXIT_PLAN_MODE;
    const ABOUT: &'static str = include_str!("exit_plan_mode.md");
    const ACCESS: ToolAccess = ToolAccess::Session;

    fn place(_args: &ExitPlanModeArgs) -> ToolPlace {
        ToolPlace::Session
    }

    fn required_permissions(args: &ExitPlanModeArgs) -> Result<Vec<RequiredPermission>, ToolError> {
        plan_exit_request(args).map(|_| vec![RequiredPermission::Session])
    }

    async fn run(args: ExitPlanModeArgs, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text(&cx.session()?.session_control.exit_plan_mode(plan_exit_request(&args)?).await?, cx))
    }
}

fn plan_exit_request(args: &ExitPlanModeArgs) -> Result<PlanExitRequest, ToolError> {
    let summary = visible_text(&args.summary).trim().to_owned();
    if summary.is_empty() {
        return Err(ToolError::refused("`summary` is empty"));
    }
    if summary.chars().count() > MAX_SUMMARY_CHARS {
        return Err(ToolError::refused(format!(
            "`summary` has more than {MAX_SUMMARY_CHARS} characters; the plan itself goes into `write_plan`"
        )));
    }
    let named =
        args.actions.iter().flatten().map(|name| parse_action("actions", name)).collect::<Result<Vec<_>, _>>()?;
    let recommended = args.recommended.as_deref().map(|name| parse_action("recommended", name)).transpose()?;
    // The user can always choose to do nothing, or the recommended action.
    let offered = |action: &PlanAction| {
        named.is_empty() || named.contains(action) || *action == PlanAction::ExitOnly || Some(*action) == recommended
    };
    let actions: Vec<PlanAction> = PlanAction::ALL.into_iter().filter(offered).collect();
    let recommended = recommended.or(actions.first().copied()).unwrap_or(PlanAction::ExitOnly);
    Ok(PlanExitRequest { summary, actions, recommended })
}

fn parse_action(field: &str, name: &str) -> Result<PlanAction, ToolError> {
    PlanAction::from_name(name).ok_or_else(|| {
        let known = PlanAction::ALL.map(PlanAction::as_str).join(", ");
        ToolError::refused(format!("`{field}` has `{}`; use only: {known}", crate::text::visible_text(name)))
    })
}
