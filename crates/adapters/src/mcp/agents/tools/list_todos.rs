//! Lists the todos of a session.

use protocol::api::TodosParams;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::arguments::{self, AgentToolError};
use super::super::fleet_report::{MAX_TODOS, TodoReport};
use super::super::provider::AgentServer;
use super::table::AgentTool;
use crate::mcp::{McpReply, McpRequest, ToolEffect};

/// The tool.
pub(super) struct ListTodos;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListTodosArgs {
    /// The session.
    session: String,
    /// How many to skip.
    #[serde(default)]
    offset: u64,
    /// Whether to return only those that can be worked on now.
    #[serde(default)]
    ready: bool,
}

/// Todos, in the order they were written.
#[derive(Debug, Serialize, JsonSchema)]
struct TodoList {
    /// The todos.
    todos: Vec<TodoReport>,
    /// How many there are in total.
    total: u64,
}

impl AgentTool for ListTodos {
    const NAME: &'static str = "list_todos";
    const TITLE: &'static str = "List todos";
    const DESCRIPTION: &'static str = "Lists the todos of a session with their status and dependencies.";
    const EFFECT: ToolEffect = ToolEffect::Reads;

    type Args = ListTodosArgs;

    fn output_schema() -> Option<Value> {
        Some(arguments::output_schema::<TodoList>())
    }

    async fn call(
        server: &AgentServer,
        args: ListTodosArgs,
        _request: &McpRequest,
    ) -> Result<McpReply, AgentToolError> {
        let (session, _view) = server.settings.session(&args.session).await?;
        let limit = u64::try_from(MAX_TODOS).unwrap_or(u64::MAX);
        let params =
            TodosParams { ready: args.ready, offset: args.offset, limit: Some(limit), ..TodosParams::default() };
        let page = session.read(move |stored| Ok(stored.todos(&params)?)).await?;
        let list = TodoList { todos: page.todos.iter().map(TodoReport::new).collect(), total: page.total };
        let line = |todo: &TodoReport| format!("{} {}: {}", todo.status, todo.id, todo.title);
        let text = match list.todos.is_empty() {
            true => "no todos".to_owned(),
            false => list.todos.iter().map(line).collect::<Vec<_>>().join("\n"),
        };
        Ok(McpReply::Complete(arguments::structured(&text, &list)?))
    }
}
