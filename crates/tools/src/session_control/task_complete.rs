//! Reports on the objective of a session that is on autopilot.

use protocol::{ObjectiveReport, tool_name};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::args::TypedTool;
use crate::text::visible_text;
use crate::{RequiredPermission, ToolAccess, ToolContext, ToolError, ToolOutput, ToolPlace};

/// The `task_complete` tool.
pub(crate) struct TaskComplete;

/// The arguments of `task_complete`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TaskCompleteArgs {
    /// What was done, in a few sentences.
    summary: String,
    /// `done` when the objective is met, `blocked` when it cannot be met as things are.
    status: String,
    /// What is in the way, and what the user can do about it; only with `blocked`.
    reason: Option<String>,
}

/// Maximum characters of a summary or a reason.
const MAX_TEXT_CHARS: usize = 4000;

impl TypedTool for TaskComplete {
    type Args = TaskCompleteArgs;
    const NAME: &'static str = tool_name::TASK_COMPLETE;
    const ABOUT: &'static str = include_str!("task_complete.md");
    const ACCESS: ToolAccess = ToolAccess::Session;

    fn place(_args: &TaskCompleteArgs) -> ToolPlace {
        ToolPlace::Session
    }

    fn required_permissions(args: &TaskCompleteArgs) -> Result<Vec<RequiredPermission>, ToolError> {
        parse_report(args).map(|_| vec![RequiredPermission::Session])
    }

    async fn run(args: TaskCompleteArgs, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text(&cx.session()?.session_control.complete(parse_report(&args)?).await?, cx))
    }
}

fn parse_report(args: &TaskCompleteArgs) -> Result<ObjectiveReport, ToolError> {
    let summary = bounded_text("summary", &args.summary)?;
    match (args.status.as_str(), &args.reason) {
        ("done", None) => Ok(ObjectiveReport::Done { summary }),
        ("done", Some(reason)) if reason.trim().is_empty() => Ok(ObjectiveReport::Done { summary }),
        ("done", Some(_)) => {
            Err(ToolError::refused("`reason` goes with the status `blocked`; leave it out if the objective is met"))
        }
        ("blocked", Some(reason)) => Ok(ObjectiveReport::Blocked { summary, reason: bounded_text("reason", reason)? }),
        ("blocked", None) => Err(ToolError::refused("`reason` is missing: say what is in the way")),
        (other, _) => {
            let other = visible_text(other);
            Err(ToolError::refused(format!("`status` is `{other}`; use only: done, blocked")))
        }
    }
}

fn bounded_text(field: &str, text: &str) -> Result<String, ToolError> {
    let text = visible_text(text).trim().to_owned();
    match text.chars().count() {
        0 => Err(ToolError::refused(format!("`{field}` is empty"))),
        count if count > MAX_TEXT_CHARS => {
            Err(ToolError::refused(format!("`{field}` has more than {MAX_TEXT_CHARS} characters; shorten it")))
        }
        _fits => Ok(text),
    }
}
