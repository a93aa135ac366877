//! API types for todos.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Todo, TodoId, TodoStatus};

/// One todo as every view shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TodoView {
    /// Its id.
    pub id: TodoId,
    /// What is to be done, in one line.
    pub title: String,
    /// Details for the worker.
    pub description: Option<String>,
    /// Its status.
    pub status: TodoStatus,
    /// Whether it can be worked on now.
    pub ready: bool,
    /// Whether it is in progress but has no worker, since the process that ran it is gone. It continues when its
    /// session is resumed.
    #[serde(default)]
    pub interrupted: bool,
    /// The todos that must be done first.
    pub depends_on: Vec<TodoId>,
    /// Why it is blocked, or what went wrong the last time.
    pub reason: Option<String>,
    /// The agent type that should do it.
    pub agent_type: Option<String>,
    /// The model that should do it.
    pub model: Option<String>,
    /// Patterns of the files that it reads and changes.
    pub files: Vec<String>,
    /// A shell command that must exit with code 0 when it is done.
    pub check: Option<String>,
    /// A JSON Schema that the worker's answer must satisfy, as written.
    pub expects: Option<String>,
    /// The task that works or last worked on it.
    pub task: Option<String>,
    /// How often work on it was started.
    pub attempts: u32,
}

impl TodoView {
    /// The status shown for a todo that is in progress but has no worker.
    pub const INTERRUPTED: &'static str = "interrupted";

    /// The status in one word.
    pub fn status_name(&self) -> &'static str {
        if self.interrupted { Self::INTERRUPTED } else { self.status.as_str() }
    }
}

/// Which todos are wanted, and which page of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TodosParams {
    /// Only todos with this status.
    pub status: Option<TodoStatus>,
    /// Only todos that can be worked on now.
    pub ready: bool,
    /// How many rows to skip.
    pub offset: u64,
    /// How many rows at most; 100 when absent.
    pub limit: Option<u64>,
}

impl TodosParams {
    /// Every todo, on one page.
    pub fn all_todos() -> TodosParams {
        TodosParams { limit: Some(u64::MAX), ..TodosParams::default() }
    }
}

/// One page of todos, in the order that they were written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TodosPage {
    /// The rows.
    pub todos: Vec<TodoView>,
    /// How many there are in total.
    pub total: u64,
}

/// A todo that does not exist yet.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct NewTodo {
    /// Its id; made from the title when absent.
    pub id: Option<TodoId>,
    /// What is to be done, in one line.
    pub title: String,
    /// Details for the worker.
    pub description: Option<String>,
    /// The todos that must be done first.
    pub depends_on: Vec<TodoId>,
    /// The agent type that should do it.
    pub agent_type: Option<String>,
    /// The model that should do it.
    pub model: Option<String>,
    /// Patterns of the files that it reads and changes.
    pub files: Vec<String>,
    /// A shell command that must exit with code 0 when it is done.
    pub check: Option<String>,
    /// A JSON Schema that the worker's answer must satisfy, as written.
    pub expects: Option<String>,
}

impl From<Todo> for NewTodo {
    fn from(todo: Todo) -> NewTodo {
        let Todo { id, title, description, status: _, depends_on, agent_type, model, files, check, expects, reason: _ } =
            todo;
        NewTodo { id: Some(id), title, description, depends_on, agent_type, model, files, check, expects }
    }
}

/// A change of a todo; absent fields stay as they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TodoChange {
    /// The todo.
    pub id: TodoId,
    /// What is to be done, in one line.
    #[serde(default)]
    pub title: Option<String>,
    /// Details for the worker.
    #[serde(default)]
    pub description: Option<String>,
    /// Its new status.
    #[serde(default)]
    pub status: Option<TodoStatus>,
    /// Why it is blocked; set together with the status.
    #[serde(default)]
    pub reason: Option<String>,
    /// The todos that must be done first.
    #[serde(default)]
    pub depends_on: Option<Vec<TodoId>>,
    /// The agent type that should do it.
    #[serde(default)]
    pub agent_type: Option<String>,
    /// The model that should do it.
    #[serde(default)]
    pub model: Option<String>,
    /// Patterns of the files that it reads and changes.
    #[serde(default)]
    pub files: Option<Vec<String>>,
    /// A shell command that must exit with code 0 when it is done.
    #[serde(default)]
    pub check: Option<String>,
    /// A JSON Schema that the worker's answer must satisfy, as written.
    #[serde(default)]
    pub expects: Option<String>,
}

impl TodoChange {
    /// A change of only the status.
    pub fn status(id: TodoId, status: TodoStatus, reason: Option<String>) -> TodoChange {
        TodoChange {
            id,
            title: None,
            description: None,
            status: Some(status),
            reason,
            depends_on: None,
            agent_type: None,
            model: None,
            files: None,
            check: None,
            expects: None,
        }
    }
}

/// One edit of the todos.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum TodoEdit {
    /// Adds a todo.
    Add(NewTodo),
    /// Changes an existing todo.
    Change(TodoChange),
}

/// Edits that are applied together or not at all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TodoEdits {
    /// The edits, in order.
    pub edits: Vec<TodoEdit>,
}

/// The todos that were edited.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TodoIds {
    /// Their ids, in the order of the edits.
    pub ids: Vec<TodoId>,
}
