//! The table of the tools, and what each of them is.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::super::arguments::{self, AgentToolError};
use super::super::provider::AgentServer;
use super::answer_ask::AnswerAsk;
use super::fleet_status::ShowFleet;
use super::list_agents::ListAgents;
use super::list_asks::ListAsks;
use super::list_todos::ListTodos;
use super::message_agent::MessageAgent;
use super::read_agent::ReadAgent;
use super::start_agent::StartAgent;
use super::start_fleet::StartFleet;
use super::stop_agent::StopAgent;
use crate::mcp::{McpFuture, McpReply, McpRequest, ProvidedTool, TaskSupport, ToolEffect};

/// The tools, in the order in which clients get them.
const TOOLS: [TableEntry; 10] = [
    TableEntry::of::<StartAgent>(),
    TableEntry::of::<MessageAgent>(),
    TableEntry::of::<ReadAgent>(),
    TableEntry::of::<ListAgents>(),
    TableEntry::of::<StopAgent>(),
    TableEntry::of::<StartFleet>(),
    TableEntry::of::<ShowFleet>(),
    TableEntry::of::<ListTodos>(),
    TableEntry::of::<ListAsks>(),
    TableEntry::of::<AnswerAsk>(),
];

/// A tool.
pub(super) trait AgentTool {
    /// Its name for models.
    const NAME: &'static str;

    /// Its name for people.
    const TITLE: &'static str;

    /// When and how to use it.
    const DESCRIPTION: &'static str;

    /// What it does to the user's things.
    const EFFECT: ToolEffect;

    /// Whether its calls become tasks.
    const TASKS: TaskSupport = TaskSupport::Forbidden;

    /// Which clients have it.
    const AUDIENCE: ToolAudience = ToolAudience::Everyone;

    /// Its arguments.
    type Args: DeserializeOwned + JsonSchema + Send;

    /// The JSON Schema of its structured result.
    fn output_schema() -> Option<Value> {
        None
    }

    /// Does what it is for.
    fn call(
        server: &AgentServer,
        args: Self::Args,
        request: &McpRequest,
    ) -> impl Future<Output = Result<McpReply, AgentToolError>> + Send;
}

/// Which clients have a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ToolAudience {
    /// All.
    Everyone,
    /// Those that may decide for the user.
    Deciders,
}

/// A tool in the table.
struct TableEntry {
    name: &'static str,
    audience: ToolAudience,
    provided: fn() -> ProvidedTool,
    call: for<'a> fn(&'a AgentServer, Map<String, Value>, &'a McpRequest) -> CallFuture<'a>,
}

/// The reply to a call, while it is found.
type CallFuture<'a> = McpFuture<'a, Result<McpReply, AgentToolError>>;

impl TableEntry {
    const fn of<T: AgentTool>() -> TableEntry {
        TableEntry { name: T::NAME, audience: T::AUDIENCE, provided: provided::<T>, call: call_with::<T> }
    }

    fn is_for(&self, server: &AgentServer, request: &McpRequest) -> bool {
        match self.audience {
            ToolAudience::Everyone => true,
            ToolAudience::Deciders => server.settings.may_answer(request),
        }
    }
}

fn provided<T: AgentTool>() -> ProvidedTool {
    ProvidedTool {
        name: T::NAME,
        title: T::TITLE,
        description: T::DESCRIPTION,
        input_schema: arguments::input_schema::<T::Args>(),
        output_schema: T::output_schema(),
        effect: T::EFFECT,
        tasks: T::TASKS,
    }
}

fn call_with<'a, T: AgentTool>(
    server: &'a AgentServer,
    arguments: Map<String, Value>,
    request: &'a McpRequest,
) -> CallFuture<'a> {
    Box::pin(async move { T::call(server, arguments::read(arguments)?, request).await })
}

/// The tools for a client.
pub(in crate::mcp::agents) fn all(server: &AgentServer, request: &McpRequest) -> Vec<ProvidedTool> {
    TOOLS.iter().filter(|tool| tool.is_for(server, request)).map(|tool| (tool.provided)()).collect()
}

/// Calls a tool of the table.
pub(in crate::mcp::agents) async fn call(
    server: &AgentServer,
    tool: &str,
    arguments: Map<String, Value>,
    request: &McpRequest,
) -> Result<McpReply, AgentToolError> {
    match TOOLS.iter().find(|entry| entry.name == tool) {
        Some(entry) if entry.is_for(server, request) => (entry.call)(server, arguments, request).await,
        Some(_) => Err(AgentToolError::refused("this client may not decide for the user; `bosun approvals` does")),
        None => Err(AgentToolError::refused(format!("there is no tool `{}`", protocol::clip_middle(tool, 100)))),
    }
}
