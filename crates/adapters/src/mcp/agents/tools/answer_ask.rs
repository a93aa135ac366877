//! Decides in place of the user.

use schemars::JsonSchema;
use serde::Deserialize;

use super::super::answers;
use super::super::arguments::AgentToolError;
use super::super::provider::AgentServer;
use super::table::{AgentTool, ToolAudience};
use crate::mcp::{McpReply, McpRequest, ToolEffect};

/// The tool.
pub(super) struct AnswerAsk;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AnswerAskArgs {
    /// The session.
    session: String,
    /// The number of the ask.
    number: u64,
    /// One of its choices.
    #[serde(default)]
    decision: Option<String>,
    /// The answer to a question without choices, or a message for the agent.
    #[serde(default)]
    text: Option<String>,
}

impl AgentTool for AnswerAsk {
    const NAME: &'static str = "answer_ask";
    const TITLE: &'static str = "Decide for the user";
    const DESCRIPTION: &'static str = "Decides on a call, a question or a plan of an agent in place of the user. Only \
        do this if the user told you to.";
    const EFFECT: ToolEffect = ToolEffect::Changes;
    const AUDIENCE: ToolAudience = ToolAudience::Deciders;

    type Args = AnswerAskArgs;

    async fn call(
        server: &AgentServer,
        args: AnswerAskArgs,
        _request: &McpRequest,
    ) -> Result<McpReply, AgentToolError> {
        let (session, _view) = server.settings.session(&args.session).await?;
        let asks = answers::open_asks(&session).await?;
        let ask = asks.into_iter().find(|ask| ask.number == args.number);
        let ask = ask.ok_or_else(|| {
            AgentToolError::refused(format!(
                "number {} does not wait for a decision; list_asks shows what does",
                args.number
            ))
        })?;
        let decision = answers::decision(&ask, args.decision.as_deref(), args.text.as_deref())?;
        let word = decision.as_str();
        answers::decide(&session, &ask, decision).await?;
        Ok(McpReply::text(word))
    }
}
