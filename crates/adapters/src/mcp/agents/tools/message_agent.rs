//! Sends a message to an agent.

use client::{ClientError, SessionHandle};
use protocol::api::{SendParams, SessionCommand, SessionView, calls};
use protocol::{MailDelivery, SessionOptions};
use runtime::SessionStart;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tokio::time::Instant;

use super::super::answers::{ANSWER_TIMEOUT, CLOSE_PAUSE, CLOSE_TIME, give};
use super::super::arguments::{self, AgentToolError, checked_text, wait_limit};
use super::super::provider::AgentServer;
use super::super::report::AgentReport;
use super::super::sessions::subtask;
use super::table::AgentTool;
use crate::mcp::{McpReply, McpRequest, ToolEffect};

/// The tool.
pub(super) struct MessageAgent;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct MessageAgentArgs {
    /// The session.
    session: String,
    /// The message.
    text: String,
    /// The agent below the session's main agent, by its path; the main agent when absent.
    #[serde(default)]
    task: Option<String>,
    /// When a working agent reads it.
    #[serde(default)]
    timing: MessageTiming,
    /// How many seconds to wait for the answer; the call returns at once when absent.
    #[serde(default)]
    wait_seconds: Option<u64>,
}

/// When a working agent reads a message. One at rest always reads it at once.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum MessageTiming {
    /// When it has answered.
    #[default]
    FollowUp,
    /// After its current turn.
    Steer,
}

impl AgentTool for MessageAgent {
    const NAME: &'static str = "message_agent";
    const TITLE: &'static str = "Message an agent";
    const DESCRIPTION: &'static str = "Sends a message to an agent: a follow-up, or a correction while it works (timing steer). An \
        agent at rest continues. With wait_seconds, waits for the answer.";
    const EFFECT: ToolEffect = ToolEffect::Changes;

    type Args = MessageAgentArgs;

    fn output_schema() -> Option<Value> {
        Some(arguments::output_schema::<AgentReport>())
    }

    async fn call(
        server: &AgentServer,
        args: MessageAgentArgs,
        request: &McpRequest,
    ) -> Result<McpReply, AgentToolError> {
        let (session, view) = server.settings.session(&args.session).await?;
        // Otherwise the client's user has decided, and the call goes on.
        if request.state().is_none() {
            let task = match &args.task {
                Some(task) => Some(subtask(&session, task).await?),
                None => None,
            };
            let text = checked_text(&args.text)?;
            let delivery = match args.timing {
                MessageTiming::FollowUp => MailDelivery::FollowUp,
                MessageTiming::Steer => MailDelivery::Steer,
            };
            let message = SendParams { task, text, images: Vec::new(), delivery, display: None };
            deliver(server, &session, &view, message).await?;
        }
        server.reply_of_run(&session, wait_limit(args.wait_seconds), request).await
    }
}

/// Delivers a message; a session that rests is resumed with it.
async fn deliver(
    server: &AgentServer,
    session: &SessionHandle,
    view: &SessionView,
    message: SendParams,
) -> Result<(), AgentToolError> {
    let until = Instant::now() + CLOSE_TIME;
    loop {
        match (session.call::<calls::SessionSend>(&message, ANSWER_TIMEOUT).await, message.task) {
            (Ok(_receipt), _) => return Ok(()),
            (Err(ClientError::NotRunning(_)), None) => {
                let options = SessionOptions { prompt: Some(message.text), ..resume_options(server, view) };
                server.begin(SessionStart::Resume(session.id()), options).await?;
                return Ok(());
            }
            (Err(ClientError::NotRunning(_)), Some(_)) => {
                // The next owner takes it first.
                give(session, &SessionCommand::Send(message)).await?;
                server.begin(SessionStart::Resume(session.id()), resume_options(server, view)).await?;
                return Ok(());
            }
            // It is just being closed. A process that does not answer at all takes longer than this.
            (Err(ClientError::NoAnswer { .. }), _) if Instant::now() < until => {
                tokio::time::sleep(CLOSE_PAUSE).await;
            }
            (Err(error), _) => return Err(error.into()),
        }
    }
}

/// The options of a session that is resumed: what it stores itself stays as it was, unless the server allows less.
fn resume_options(server: &AgentServer, view: &SessionView) -> SessionOptions {
    let options = server.settings.options.clone();
    SessionOptions {
        cwd: None,
        model: None,
        effort: None,
        agent: None,
        permission: options.permission.filter(|mode| mode.is_narrower(view.permission)),
        allow: Vec::new(),
        add_dirs: Vec::new(),
        max_turns: None,
        max_budget_usd: None,
        max_tokens: None,
        ..options
    }
}
