//! Lists what waits for a decision of the user.

use protocol::api::{AllAsksParams, AllAsksResult, AskView, Method};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::super::answers::{self, MAX_ASKS};
use super::super::arguments::{self, AgentToolError};
use super::super::provider::AgentServer;
use super::table::AgentTool;
use crate::mcp::{McpFault, McpReply, McpRequest, ToolEffect};

/// The tool.
pub(super) struct ListAsks;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListAsksArgs {
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

impl AgentTool for ListAsks {
    const NAME: &'static str = "list_asks";
    const TITLE: &'static str = "List open decisions";
    const DESCRIPTION: &'static str = "Lists the calls, questions and plans of agents that wait for a decision of the \
        user, who decides with `bosun approvals`.";
    const EFFECT: ToolEffect = ToolEffect::Reads;

    type Args = ListAsksArgs;

    fn output_schema() -> Option<Value> {
        Some(arguments::output_schema::<AskList>())
    }

    async fn call(server: &AgentServer, args: ListAsksArgs, _request: &McpRequest) -> Result<McpReply, AgentToolError> {
        let mut asks = match &args.session {
            Some(session) => answers::open_asks(&server.settings.session(session).await?.0).await?,
            None => open_asks(server).await?,
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
}

/// What waits for a decision in the sessions of this server's clients, oldest first.
async fn open_asks(server: &AgentServer) -> Result<Vec<AskView>, AgentToolError> {
    let params = AllAsksParams { all: false };
    let found = client::call_home(&server.settings.home, Method::AsksAll, json!(params)).await?;
    let found: AllAsksResult = serde_json::from_value(found).map_err(McpFault::internal)?;
    let own = found.asks.into_iter().filter(|ask| server.settings.includes(ask.view.session, &ask.cwd));
    Ok(own.map(|ask| ask.view).collect())
}
