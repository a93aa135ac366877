//! Starts an agent.

use protocol::{Expectations, ReasoningEffort, TaskMode, tool_name};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::args::TypedTool;
use crate::{RequiredPermission, StartAgentRequest, ToolAccess, ToolContext, ToolError, ToolOutput, ToolPlace};

/// The `task` tool.
pub(crate) struct StartTask;

/// The arguments of `task`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StartTaskArgs {
    /// One line on what it is for.
    description: String,
    /// All it needs to know: it does not see this conversation.
    prompt: String,
    /// One of the types above.
    agent_type: String,
    /// A short name to address it by.
    name: String,
    /// A model other than its default.
    model: Option<String>,
    /// `sync` or `background`.
    mode: Option<String>,
    /// `low`, `medium` or `high`.
    reasoning_effort: Option<String>,
    /// What must hold when done: `files` (changed patterns), `command` (exits 0), `schema` (of its answer).
    expects: Option<Value>,
}

impl TypedTool for StartTask {
    type Args = StartTaskArgs;
    const NAME: &'static str = tool_name::TASK;
    const ABOUT: &'static str = include_str!("task.md");
    const ACCESS: ToolAccess = ToolAccess::Agent;

    fn place(_args: &StartTaskArgs) -> ToolPlace {
        ToolPlace::Session
    }

    fn required_permissions(args: &StartTaskArgs) -> Result<Vec<RequiredPermission>, ToolError> {
        let request = start_request(args)?;
        // The runtime runs this command for the model, as it would a shell call.
        let check = request.expects.and_then(|expects| expects.command).map(RequiredPermission::Shell);
        Ok([RequiredPermission::Agent(request.agent_type)].into_iter().chain(check).collect())
    }

    async fn run(args: StartTaskArgs, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text(&cx.session()?.subagents.start(start_request(&args)?).await?, cx))
    }
}

fn start_request(args: &StartTaskArgs) -> Result<StartAgentRequest, ToolError> {
    for (field, text) in [("description", &args.description), ("prompt", &args.prompt), ("name", &args.name)] {
        if text.trim().is_empty() {
            return Err(ToolError::refused(format!("`{field}` is empty; give all of description, prompt, name")));
        }
    }
    let mode = match args.mode.as_deref() {
        None => None,
        Some("sync") => Some(TaskMode::Sync),
        Some("background") => Some(TaskMode::Background),
        Some(other) => return Err(unknown_value("mode", other, "sync, background")),
    };
    let effort = match args.reasoning_effort.as_deref() {
        None => None,
        Some("low") => Some(ReasoningEffort::Low),
        Some("medium") => Some(ReasoningEffort::Medium),
        Some("high") => Some(ReasoningEffort::High),
        Some(other) => return Err(unknown_value("reasoning_effort", other, "low, medium, high")),
    };
    Ok(StartAgentRequest {
        description: args.description.clone(),
        prompt: args.prompt.clone(),
        agent_type: args.agent_type.clone(),
        name: args.name.clone(),
        model: args.model.clone(),
        mode,
        effort,
        expects: args.expects.as_ref().map(parse_expectations).transpose()?,
    })
}

fn unknown_value(field: &str, given: &str, known: &str) -> ToolError {
    ToolError::refused(format!("`{field}` is `{given}`; use only: {known}"))
}

/// Parses the expectations. An unknown or misspelt field is refused: the model must not believe in a check that is not
/// made.
fn parse_expectations(value: &Value) -> Result<Expectations, ToolError> {
    #[derive(Default, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    struct ExpectsInput {
        files: Vec<String>,
        command: Option<String>,
        schema: Option<Value>,
    }
    let given = ExpectsInput::deserialize(value).map_err(|error| {
        ToolError::refused(format!("`expects` is invalid: {error}; its fields are `files`, `command` and `schema`"))
    })?;
    Ok(Expectations { files: given.files, command: given.command, schema: given.schema })
}
