//! Tools for what waits for a decision of the user.

use protocol::api::{AllAsksParams, AllAsksResult, AskView, Method};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::super::answers::{self, MAX_ASKS};
use super::super::arguments::{self, AgentToolError};
use super::super::provider::AgentServer;
use crate::mcp::{McpFault, McpReply, McpRequest, ProvidedTool, TaskSupport, ToolEffect};

pub(super) const LIST_ASKS: &str = "list_asks";
pub(super) const ANSWER_ASK: &str = "answer_ask";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListAsksArgs {
    /// The session; all of this server when absent.
    #[serde(default)]
    session: Option<String>,
}

/// What waits for a decision of the user, oldest first.
#[derive(Debug, Serialize, JsonSchema)]
struct AskList {
    /// The asks.
    asks: Vec<AskReport>,
}

/// A call, a question or a plan that waits for a decision.
#[derive(Debug, Serialize, JsonSchema)]
struct AskReport {
    /// Its session.
    session: String,
    /// Its number in the session.
    number: u64,
    /// What is asked.
    question: String,
    /// The decisions to choose from; a free text when absent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    choices: Vec<String>,
}

pub(super) fn list_asks_tool() -> ProvidedTool {
    ProvidedTool {
        name: LIST_ASKS,
        title: "List open decisions",
        description: "Lists the calls, questions and plans of agents that wait for a decision of the user, who \
                      decides with `bosun approvals`.",
        input_schema: arguments::input_schema::<ListAsksArgs>(),
        output_schema: Some(arguments::output_schema::<AskList>()),
        effect: ToolEffect::Reads,
        tasks: TaskSupport::Forbidden,
    }
}

pub(super) async fn list_asks(server: &AgentServer, arguments: Map<String, Value>) -> Result<McpReply, AgentToolError> {
    let args: ListAsksArgs = arguments::read(arguments)?;
    let mut asks = match &args.session {
        Some(session) => answers::open_asks(&server.settings.session(session).await?.0).await?,
        None => server.open_asks().await?,
    };
    asks.truncate(MAX_ASKS);
    let report = |ask: &AskView| AskReport {
        session: ask.session.to_string(),
        number: ask.number,
        question: answers::question(ask),
        choices: answers::choices(ask),
    };
    let list = AskList { asks: asks.iter().map(report).collect() };
    let line = |ask: &AskReport| format!("{} #{}: {}", ask.session, ask.number, ask.question);
    let text = match list.asks.is_empty() {
        true => "nothing waits for a decision".to_owned(),
        false => list.asks.iter().map(line).collect::<Vec<_>>().join("\n\n"),
    };
    Ok(McpReply::Complete(arguments::structured(&text, &list)?))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AnswerAskArgs {
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

pub(super) fn answer_ask_tool() -> ProvidedTool {
    ProvidedTool {
        name: ANSWER_ASK,
        title: "Decide for the user",
        description: "Decides on a call, a question or a plan of an agent in place of the user. Only do this if the \
                      user told you to.",
        input_schema: arguments::input_schema::<AnswerAskArgs>(),
        output_schema: None,
        effect: ToolEffect::Changes,
        tasks: TaskSupport::Forbidden,
    }
}

pub(super) async fn answer_ask(
    server: &AgentServer,
    arguments: Map<String, Value>,
    request: &McpRequest,
) -> Result<McpReply, AgentToolError> {
    if !server.settings.may_answer(request) {
        return Err(AgentToolError::refused("this client may not decide for the user; `bosun approvals` does"));
    }
    let args: AnswerAskArgs = arguments::read(arguments)?;
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

impl AgentServer {
    /// What waits for a decision in the sessions of this server's clients, oldest first.
    async fn open_asks(&self) -> Result<Vec<AskView>, AgentToolError> {
        let params = AllAsksParams { all: false };
        let found = client::call_home(&self.settings.home, Method::AsksAll, json!(params)).await?;
        let found: AllAsksResult = serde_json::from_value(found).map_err(McpFault::internal)?;
        let own = found.asks.into_iter().filter(|ask| self.settings.includes(ask.view.session, &ask.cwd));
        Ok(own.map(|ask| ask.view).collect())
    }
}
