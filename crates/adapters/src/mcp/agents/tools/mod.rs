//! The tools: one table, and one module for each group.

pub(super) mod decisions;
pub(super) mod fleets;
pub(super) mod sessions;

use serde_json::{Map, Value};

use super::arguments::AgentToolError;
use super::provider::AgentServer;
use crate::mcp::{McpReply, McpRequest, ProvidedTool};

/// The tools for a client; that which decides is only for those who may.
pub(super) fn all(server: &AgentServer, request: &McpRequest) -> Vec<ProvidedTool> {
    let decides = server.settings.may_answer(request).then(decisions::answer_ask_tool);
    let tools = [
        sessions::start_agent_tool(),
        sessions::message_agent_tool(),
        sessions::read_agent_tool(),
        sessions::list_agents_tool(),
        sessions::stop_agent_tool(),
        fleets::start_fleet_tool(),
        fleets::fleet_status_tool(),
        fleets::list_todos_tool(),
        decisions::list_asks_tool(),
    ];
    tools.into_iter().chain(decides).collect()
}

/// Calls a tool of the table.
pub(super) async fn call(
    server: &AgentServer,
    tool: &str,
    arguments: Map<String, Value>,
    request: &McpRequest,
) -> Result<McpReply, AgentToolError> {
    match tool {
        sessions::START_AGENT => sessions::start_agent(server, arguments, request).await,
        sessions::MESSAGE_AGENT => sessions::message_agent(server, arguments, request).await,
        sessions::READ_AGENT => sessions::read_agent(server, arguments, request).await,
        sessions::LIST_AGENTS => sessions::list_agents(server, arguments).await,
        sessions::STOP_AGENT => sessions::stop_agent(server, arguments).await,
        fleets::START_FLEET => fleets::start_fleet(server, arguments, request).await,
        fleets::FLEET_STATUS => fleets::fleet_status(server, arguments).await,
        fleets::LIST_TODOS => fleets::list_todos(server, arguments).await,
        decisions::LIST_ASKS => decisions::list_asks(server, arguments).await,
        decisions::ANSWER_ASK => decisions::answer_ask(server, arguments, request).await,
        other => Err(AgentToolError::refused(format!("there is no tool `{}`", protocol::clip_middle(other, 100)))),
    }
}
