//! Starts an agent.

use std::num::NonZeroU32;

use protocol::{PermissionMode, SessionOptions, Usd};
use runtime::SessionStart;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::super::arguments::{self, AgentToolError, checked_model, checked_text, wait_limit};
use super::super::provider::AgentServer;
use super::super::report::AgentReport;
use super::table::AgentTool;
use crate::mcp::{McpReply, McpRequest, TaskSupport, ToolEffect};

/// The tool.
pub(super) struct StartAgent;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct StartAgentArgs {
    /// What the agent is to do; it knows nothing else.
    prompt: String,
    /// The folder it works in, below the server's folder, which is the default.
    #[serde(default)]
    folder: Option<String>,
    /// The agent definition; the default agent when absent.
    #[serde(default)]
    agent: Option<String>,
    /// The model; the user's default when absent.
    #[serde(default)]
    model: Option<String>,
    /// Whether it may only read.
    #[serde(default)]
    read_only: bool,
    /// Maximum turns.
    #[serde(default)]
    max_turns: Option<u32>,
    /// Maximum cost in US dollars.
    #[serde(default)]
    max_budget_usd: Option<f64>,
    /// How many seconds to wait for the answer; the call returns at once when absent.
    #[serde(default)]
    wait_seconds: Option<u64>,
}

impl AgentTool for StartAgent {
    const NAME: &'static str = "start_agent";
    const TITLE: &'static str = "Start an agent";
    const DESCRIPTION: &'static str = "Starts a coding agent with a prompt. It continues in the background: read_agent returns its \
        answer, message_agent sends it more. With wait_seconds, waits for the answer.";
    const EFFECT: ToolEffect = ToolEffect::Changes;
    const TASKS: TaskSupport = TaskSupport::Optional;

    type Args = StartAgentArgs;

    fn output_schema() -> Option<Value> {
        Some(arguments::output_schema::<AgentReport>())
    }

    async fn call(
        server: &AgentServer,
        args: StartAgentArgs,
        request: &McpRequest,
    ) -> Result<McpReply, AgentToolError> {
        let limit = wait_limit(args.wait_seconds);
        let session = match request.state() {
            // The client's user has decided, and the call goes on.
            Some(state) => server.settings.session(state).await?.0,
            None => {
                let options = start_options(server, &args)?;
                server.begin(SessionStart::New, options).await?
            }
        };
        server.reply_of_run(&session, limit, request).await
    }
}

/// The options of a session: the server's own, as far as the client does not narrow them.
fn start_options(server: &AgentServer, args: &StartAgentArgs) -> Result<SessionOptions, AgentToolError> {
    let options = server.settings.options.clone();
    let turns = match args.max_turns {
        Some(turns) => {
            Some(NonZeroU32::new(turns).ok_or_else(|| AgentToolError::refused("max_turns must be at least 1"))?)
        }
        None => None,
    };
    let budget = args.max_budget_usd.map(dollars).transpose()?;
    Ok(SessionOptions {
        prompt: Some(checked_text(&args.prompt)?),
        cwd: Some(server.settings.working_folder(args.folder.as_deref())?),
        agent: args.agent.clone().or(options.agent),
        model: args.model.as_deref().map(checked_model).transpose()?.or(options.model),
        permission: if args.read_only { Some(PermissionMode::Plan) } else { options.permission },
        max_turns: smaller(turns, options.max_turns),
        max_budget_usd: smaller(budget, options.max_budget_usd.map(|Usd(micros)| micros)).map(Usd),
        ..options
    })
}

/// Dollars as millionths.
fn dollars(amount: f64) -> Result<u64, AgentToolError> {
    protocol::parse_usd(&amount.to_string()).map_err(|why| AgentToolError::refused(format!("max_budget_usd: {why}")))
}

fn smaller<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}
