//! Reports on the objective of a session that is on autopilot.

use protocol::Completion;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::args::Typed;
use crate::text::shown_letters;
use crate::{Access, Context, Need, Output, ToolError};

/// The `task_complete` tool.
pub(crate) struct TaskComplete;

/// The arguments of `task_complete`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// What was done, in a few sentences.
    summary: String,
    /// `done` when the objective is met, `blocked` when it cannot be met as things are.
    status: String,
    /// What is in the way, and what the user can do about it; only with `blocked`.
    reason: Option<String>,
}

/// Most letters of a summary or a reason.
const WORDS: usize = 4000;

impl Typed for TaskComplete {
    type Args = Args;
    const NAME: &'static str = "task_complete";
    const ABOUT: &'static str = include_str!("task_complete.md");
    const ACCESS: Access = Access::Session;

    fn needs(args: &Args) -> Result<Vec<Need>, ToolError> {
        completion(args).map(|_| vec![Need::Session])
    }

    async fn run(args: Args, cx: &Context) -> Result<Output, ToolError> {
        Ok(Output::text(&cx.helm.complete(completion(&args)?).await?, cx))
    }
}

fn completion(args: &Args) -> Result<Completion, ToolError> {
    let summary = words("summary", &args.summary)?;
    match (args.status.as_str(), &args.reason) {
        ("done", None) => Ok(Completion::Done { summary }),
        ("done", Some(reason)) if reason.trim().is_empty() => Ok(Completion::Done { summary }),
        ("done", Some(_)) => {
            Err(ToolError::refused("`reason` goes with the status `blocked`; leave it out if the objective is met"))
        }
        ("blocked", Some(reason)) => Ok(Completion::Blocked { summary, reason: words("reason", reason)? }),
        ("blocked", None) => Err(ToolError::refused("`reason` is missing: say what is in the way")),
        (other, _) => {
            let other = shown_letters(other);
            Err(ToolError::refused(format!("`status` is `{other}`, and there are only: done, blocked")))
        }
    }
}

fn words(field: &str, text: &str) -> Result<String, ToolError> {
    let text = shown_letters(text).trim().to_owned();
    match text.chars().count() {
        0 => Err(ToolError::refused(format!("`{field}` is empty"))),
        count if count > WORDS => {
            Err(ToolError::refused(format!("`{field}` has more than {WORDS} characters; say it more briefly")))
        }
        _fits => Ok(text),
    }
}
