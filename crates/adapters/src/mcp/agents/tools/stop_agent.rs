//! Stops an agent, a fleet, or one agent of a session.

use protocol::CancelMode;
use protocol::api::{SessionCommand, StopTaskParams};
use protocol::tool_name::STOP_AGENT;
use schemars::JsonSchema;
use serde::Deserialize;

use super::super::answers::give;
use super::super::arguments::AgentToolError;
use super::super::provider::AgentServer;
use super::super::sessions::{stop_session, subtask};
use super::table::AgentTool;
use crate::mcp::{McpReply, McpRequest, ToolEffect};

/// The tool.
pub(super) struct StopAgent;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct StopAgentArgs {
    /// The session.
    session: String,
    /// The agent to stop, by its path, with those below it; the whole session when absent.
    #[serde(default)]
    task: Option<String>,
}

impl AgentTool for StopAgent {
    const NAME: &'static str = STOP_AGENT;
    const TITLE: &'static str = "Stop an agent";
    const DESCRIPTION: &'static str = "Stops an agent, a fleet, or one agent of a session. What it did stays, and message_agent can \
        continue it.";
    const EFFECT: ToolEffect = ToolEffect::Changes;

    type Args = StopAgentArgs;

    async fn call(
        server: &AgentServer,
        args: StopAgentArgs,
        _request: &McpRequest,
    ) -> Result<McpReply, AgentToolError> {
        let (session, _view) = server.settings.session(&args.session).await?;
        match &args.task {
            Some(task) => {
                let task = subtask(&session, task).await?;
                let command = SessionCommand::StopTask(StopTaskParams { task, how: CancelMode::Abort });
                give(&session, &command).await?;
            }
            None => stop_session(&session).await?,
        }
        Ok(McpReply::text("it is being stopped; read_agent shows when it has"))
    }
}
