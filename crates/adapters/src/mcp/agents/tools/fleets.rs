//! Tools that start fleets and show how far they are.

use std::fmt::Write;

use protocol::api::{FleetParams, FleetStatus, FleetTodoView, TodoView, TodosParams};
use protocol::{FleetEnd, SessionOptions, TodoStatus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::super::arguments::{self, AgentToolError};
use super::super::provider::AgentServer;
use super::sessions::{checked_model, checked_text, wait_limit};
use crate::mcp::{McpReply, McpRequest, ProvidedTool, TaskSupport, ToolEffect};

pub(super) const START_FLEET: &str = "start_fleet";
pub(super) const FLEET_STATUS: &str = "fleet_status";
pub(super) const LIST_TODOS: &str = "list_todos";

/// How many todos are returned at once.
const MAX_TODOS: usize = 200;

/// Maximum bytes of a todo's result.
const MAX_RESULT_BYTES: usize = 2000;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct StartFleetArgs {
    /// What the fleet is to reach; its main agent makes the plan.
    goal: String,
    /// The folder it works in, below the server's folder, which is the default.
    #[serde(default)]
    folder: Option<String>,
    /// The agent definition for the workers.
    #[serde(default)]
    agent: Option<String>,
    /// The model; the user's default when absent.
    #[serde(default)]
    model: Option<String>,
    /// How many todos may be in progress at once.
    #[serde(default)]
    parallel: Option<u32>,
    /// Whether each worker has its own checkout, merged into a branch of its own at the end.
    #[serde(default)]
    isolated: bool,
    /// How many seconds to wait for the end; the call returns at once when absent.
    #[serde(default)]
    wait_seconds: Option<u64>,
}

pub(super) fn start_fleet_tool() -> ProvidedTool {
    ProvidedTool {
        name: START_FLEET,
        title: "Start a fleet",
        description: "Starts a fleet: a main agent splits a goal into todos, and agents do them in parallel. It \
                      continues in the background; fleet_status shows how far it is.",
        input_schema: arguments::input_schema::<StartFleetArgs>(),
        // With wait_seconds, the result is that of fleet_status or of read_agent.
        output_schema: None,
        effect: ToolEffect::Changes,
        tasks: TaskSupport::Optional,
    }
}

pub(super) async fn start_fleet(
    server: &AgentServer,
    arguments: Map<String, Value>,
    request: &McpRequest,
) -> Result<McpReply, AgentToolError> {
    let args: StartFleetArgs = arguments::read(arguments)?;
    let session = match request.state() {
        // The client's user has decided, and the call goes on.
        Some(state) => server.settings.session(state).await?.0,
        None => {
            let options = server.settings.options.clone();
            let options = SessionOptions {
                cwd: Some(server.settings.working_folder(args.folder.as_deref())?),
                model: args.model.as_deref().map(checked_model).transpose()?.or(options.model),
                ..options
            };
            let fleet = FleetParams {
                prompt: Some(checked_text(&args.goal)?),
                agent: args.agent,
                parallel: args.parallel,
                isolated: Some(args.isolated),
                ..FleetParams::default()
            };
            let view = server.background.begin_fleet(options, fleet).await?;
            server.adopt(view.id)?
        }
    };
    server.reply_of_run(&session, wait_limit(args.wait_seconds), request).await
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FleetStatusArgs {
    /// The session.
    session: String,
}

/// How far a fleet is.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp::agents) struct FleetReport {
    /// Its session.
    session: String,
    /// How it ended; absent while it has not.
    #[serde(skip_serializing_if = "Option::is_none")]
    end: Option<FleetEndReport>,
    /// How many todos are done.
    done: usize,
    /// How many todos there are.
    total: usize,
    /// The todos, in the order they were written.
    todos: Vec<FleetTodoReport>,
}

/// How a fleet ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum FleetEndReport {
    /// Every todo is done.
    Done,
    /// Some todos are blocked.
    Blocked,
    /// It was stopped.
    Stopped,
}

impl FleetEndReport {
    fn as_str(self) -> &'static str {
        match self {
            FleetEndReport::Done => "done",
            FleetEndReport::Blocked => "blocked",
            FleetEndReport::Stopped => "stopped",
        }
    }
}

impl From<FleetEnd> for FleetEndReport {
    fn from(end: FleetEnd) -> FleetEndReport {
        match end {
            FleetEnd::Done => FleetEndReport::Done,
            FleetEnd::Blocked => FleetEndReport::Blocked,
            FleetEnd::Stopped => FleetEndReport::Stopped,
        }
    }
}

/// A todo of a fleet.
#[derive(Debug, Serialize, JsonSchema)]
struct FleetTodoReport {
    /// The todo.
    todo: TodoReport,
    /// The result of the agent that worked on it last.
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<String>,
}

impl FleetReport {
    pub(in crate::mcp::agents) fn new(fleet: &FleetStatus) -> FleetReport {
        let report = |view: &FleetTodoView| FleetTodoReport {
            todo: TodoReport::new(&view.todo),
            result: view.result.as_deref().map(|text| protocol::clip_middle(text, MAX_RESULT_BYTES)),
        };
        FleetReport {
            session: fleet.session.to_string(),
            end: fleet.end.map(FleetEndReport::from),
            done: fleet.todos.iter().filter(|view| view.todo.status == TodoStatus::Done).count(),
            total: fleet.todos.len(),
            todos: fleet.todos.iter().take(MAX_TODOS).map(report).collect(),
        }
    }
}

/// A fleet for models.
pub(in crate::mcp::agents) fn fleet_text(report: &FleetReport) -> String {
    let FleetReport { session, end, done, total, todos } = report;
    let state = end.map_or("at work", FleetEndReport::as_str);
    let mut text = format!("session {session}: the fleet is {state}; {done} of {total} todos are done");
    for FleetTodoReport { todo, result } in todos {
        // Writing to a string cannot fail.
        let _written = write!(text, "\n{} {}: {}", todo.status, todo.id, todo.title);
        if let Some(reason) = &todo.reason {
            let _written = write!(text, " ({reason})");
        }
        if let Some(result) = result.as_deref().filter(|_| end.is_some()) {
            let _written = write!(text, "\n    {result}");
        }
    }
    text
}

pub(super) fn fleet_status_tool() -> ProvidedTool {
    ProvidedTool {
        name: FLEET_STATUS,
        title: "Show a fleet",
        description: "Returns how far a fleet is: its todos with status and results, and how it ended.",
        input_schema: arguments::input_schema::<FleetStatusArgs>(),
        output_schema: Some(arguments::output_schema::<FleetReport>()),
        effect: ToolEffect::Reads,
        tasks: TaskSupport::Forbidden,
    }
}

pub(super) async fn fleet_status(
    server: &AgentServer,
    arguments: Map<String, Value>,
) -> Result<McpReply, AgentToolError> {
    let args: FleetStatusArgs = arguments::read(arguments)?;
    let (session, _view) = server.settings.session(&args.session).await?;
    let fleet = session.read(|stored| Ok(stored.fleet_status()?)).await?;
    let fleet = fleet.ok_or_else(|| AgentToolError::refused("the session has no fleet; read_agent shows its agent"))?;
    let report = FleetReport::new(&fleet);
    Ok(McpReply::Complete(arguments::structured(&fleet_text(&report), &report)?))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListTodosArgs {
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

/// A todo.
#[derive(Debug, Serialize, JsonSchema)]
struct TodoReport {
    /// Its id.
    id: String,
    /// What is to be done.
    title: String,
    /// Its status: pending, in_progress, done, blocked, or interrupted.
    status: String,
    /// The todos that must be done first.
    depends_on: Vec<String>,
    /// Why it is blocked, or what went wrong the last time.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl TodoReport {
    fn new(todo: &TodoView) -> TodoReport {
        TodoReport {
            id: todo.id.to_string(),
            title: protocol::clip_middle(&todo.title, MAX_RESULT_BYTES),
            status: todo.status_name().to_owned(),
            depends_on: todo.depends_on.iter().map(ToString::to_string).collect(),
            reason: todo.reason.as_deref().map(|reason| protocol::clip_middle(reason, MAX_RESULT_BYTES)),
        }
    }
}

pub(super) fn list_todos_tool() -> ProvidedTool {
    ProvidedTool {
        name: LIST_TODOS,
        title: "List todos",
        description: "Lists the todos of a session with their status and dependencies.",
        input_schema: arguments::input_schema::<ListTodosArgs>(),
        output_schema: Some(arguments::output_schema::<TodoList>()),
        effect: ToolEffect::Reads,
        tasks: TaskSupport::Forbidden,
    }
}

pub(super) async fn list_todos(
    server: &AgentServer,
    arguments: Map<String, Value>,
) -> Result<McpReply, AgentToolError> {
    let args: ListTodosArgs = arguments::read(arguments)?;
    let (session, _view) = server.settings.session(&args.session).await?;
    let limit = u64::try_from(MAX_TODOS).unwrap_or(u64::MAX);
    let params = TodosParams { ready: args.ready, offset: args.offset, limit: Some(limit), ..TodosParams::default() };
    let page = session.read(move |stored| Ok(stored.todos(&params)?)).await?;
    let list = TodoList { todos: page.todos.iter().map(TodoReport::new).collect(), total: page.total };
    let line = |todo: &TodoReport| format!("{} {}: {}", todo.status, todo.id, todo.title);
    let text = match list.todos.is_empty() {
        true => "no todos".to_owned(),
        false => list.todos.iter().map(line).collect::<Vec<_>>().join("\n"),
    };
    Ok(McpReply::Complete(arguments::structured(&text, &list)?))
}
