//! What clients learn about a fleet and its todos.

use std::fmt::Write;

use protocol::api::{FleetStatus, FleetTodoView, TodoView};
use protocol::{FleetEnd, TodoStatus};
use schemars::JsonSchema;
use serde::Serialize;

/// How many todos are returned at once.
pub(super) const MAX_TODOS: usize = 200;

/// Maximum bytes of a todo's result.
const MAX_RESULT_BYTES: usize = 2000;

/// How far a fleet is.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct FleetReport {
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
    pub(super) fn new(fleet: &FleetStatus) -> FleetReport {
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
pub(super) fn fleet_text(report: &FleetReport) -> String {
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

/// A todo.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct TodoReport {
    /// Its id.
    pub(super) id: String,
    /// What is to be done.
    pub(super) title: String,
    /// Its status: pending, in_progress, done, blocked, or interrupted.
    pub(super) status: String,
    /// The todos that must be done first.
    depends_on: Vec<String>,
    /// Why it is blocked, or what went wrong the last time.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl TodoReport {
    pub(super) fn new(todo: &TodoView) -> TodoReport {
        TodoReport {
            id: todo.id.to_string(),
            title: protocol::clip_middle(&todo.title, MAX_RESULT_BYTES),
            status: todo.status_name().to_owned(),
            depends_on: todo.depends_on.iter().map(ToString::to_string).collect(),
            reason: todo.reason.as_deref().map(|reason| protocol::clip_middle(reason, MAX_RESULT_BYTES)),
        }
    }
}
