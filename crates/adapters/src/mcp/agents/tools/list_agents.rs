//! Lists the agents and fleets of the server's clients.

use protocol::tool_name::LIST_AGENTS;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::arguments::{self, AgentToolError};
use super::super::provider::AgentServer;
use super::table::AgentTool;
use crate::mcp::{McpReply, McpRequest, ToolEffect};

/// How many agents a page has.
const MAX_AGENTS: usize = 50;

/// The tool.
pub(super) struct ListAgents;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListAgentsArgs {
    /// How many to skip.
    #[serde(default)]
    offset: usize,
}

/// The agents of the server, newest first.
#[derive(Debug, Serialize, JsonSchema)]
struct AgentList {
    /// The agents.
    agents: Vec<ListedAgent>,
    /// How many there are in total.
    total: usize,
}

/// An agent in a list.
#[derive(Debug, Serialize, JsonSchema)]
struct ListedAgent {
    /// Its session.
    session: String,
    /// The state of its main agent.
    state: String,
    /// The beginning of its first prompt.
    title: String,
    /// The folder it works in.
    folder: String,
    /// When its last event happened.
    updated_at: String,
}

impl AgentTool for ListAgents {
    const NAME: &'static str = LIST_AGENTS;
    const TITLE: &'static str = "List agents";
    const DESCRIPTION: &'static str = "Lists the agents and fleets that clients of this server started, newest first.";
    const EFFECT: ToolEffect = ToolEffect::Reads;

    type Args = ListAgentsArgs;

    fn output_schema() -> Option<Value> {
        Some(arguments::output_schema::<AgentList>())
    }

    async fn call(
        server: &AgentServer,
        args: ListAgentsArgs,
        _request: &McpRequest,
    ) -> Result<McpReply, AgentToolError> {
        let all = server.sessions().await?;
        let total = all.len();
        let agents = all.into_iter().skip(args.offset).take(MAX_AGENTS).map(|row| ListedAgent {
            session: row.id.to_string(),
            state: row.state,
            title: protocol::clip_middle(&row.title, 200),
            folder: row.cwd,
            updated_at: row.updated_at.to_string(),
        });
        let list = AgentList { agents: agents.collect(), total };
        let line = |agent: &ListedAgent| format!("{} {} {}", agent.session, agent.state, agent.title);
        let text = match list.agents.is_empty() {
            true => "no agents".to_owned(),
            false => list.agents.iter().map(line).collect::<Vec<_>>().join("\n"),
        };
        Ok(McpReply::Complete(arguments::structured(&text, &list)?))
    }
}
