//! Todos: the nodes of a session's graph of work, and the fleet that works through it.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The id of a todo, as whoever wrote the plan chose it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct TodoId(pub String);

impl fmt::Display for TodoId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for TodoId {
    fn from(id: &str) -> TodoId {
        TodoId(id.to_owned())
    }
}

/// How far a todo is, in the words of the `todos` table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    /// Nobody works on it.
    #[default]
    Pending,
    /// Somebody does.
    InProgress,
    /// It is done.
    Done,
    /// It cannot be done as things are.
    Blocked,
}

impl TodoStatus {
    /// Every status.
    pub const ALL: [TodoStatus; 4] =
        [TodoStatus::Pending, TodoStatus::InProgress, TodoStatus::Done, TodoStatus::Blocked];

    /// The status as the table has it.
    pub fn as_str(self) -> &'static str {
        match self {
            TodoStatus::Pending => "pending",
            TodoStatus::InProgress => "in_progress",
            TodoStatus::Done => "done",
            TodoStatus::Blocked => "blocked",
        }
    }

    /// The status of this word.
    pub fn from_name(word: &str) -> Option<TodoStatus> {
        TodoStatus::ALL.into_iter().find(|status| status.as_str() == word)
    }
}

/// A todo: a row of the `todos` table with what it depends on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Todo {
    /// Its id.
    pub id: TodoId,
    /// What is to be done, in one line.
    pub title: String,
    /// What whoever does it must know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// How far it is.
    pub status: TodoStatus,
    /// The todos that must be done first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<TodoId>,
    /// The agent that is to do it; a fleet's usual one when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<String>,
    /// The model that is to do it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Patterns of the files that it reads and changes; anything when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// A shell command that must exit with code 0 when it is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    /// A JSON Schema that the worker's answer must satisfy, as written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expects: Option<String>,
    /// Why it is blocked, or what went wrong the last time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Todo {
    /// A todo that waits for nobody and of which nothing special is said.
    pub fn new(id: impl Into<String>, title: impl Into<String>) -> Todo {
        Todo {
            id: TodoId(id.into()),
            title: title.into(),
            description: None,
            status: TodoStatus::Pending,
            depends_on: Vec::new(),
            agent_type: None,
            model: None,
            files: Vec::new(),
            check: None,
            expects: None,
            reason: None,
        }
    }
}

/// What a todo brought that an earlier run did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReusedResult {
    /// What its worker said last.
    pub result: String,
    /// The commit that holds its work, if that has yet to be merged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

/// Why a todo cannot be done as things are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum BlockReason {
    /// Whoever worked on it could not do it, or somebody said so.
    Itself {
        /// In words.
        reason: String,
    },
    /// A todo that it depends on is blocked.
    Upstream {
        /// The nearest such todo.
        todo: TodoId,
    },
    /// It depends on itself.
    Cycle {
        /// The todos of the circle, each depending on the next.
        path: Vec<TodoId>,
    },
}

impl fmt::Display for BlockReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BlockReason::Itself { reason } => f.write_str(reason),
            BlockReason::Upstream { todo } => write!(f, "it depends on {todo}, which is blocked"),
            BlockReason::Cycle { path } => write!(f, "it depends on itself: {}", format_cycle(path)),
        }
    }
}

/// The todos of a circle in words, from one of them back to it.
pub fn format_cycle(path: &[TodoId]) -> String {
    let names: Vec<&str> = path.iter().chain(path.first()).map(|todo| todo.0.as_str()).collect();
    names.join(" → ")
}

/// How a fleet works. The runtime decides from these; the model only plans.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FleetConfig {
    /// What it is all for, in the words of whoever started it.
    pub goal: String,
    /// The type of agent that does todos which name none; `general-purpose` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Most todos that are worked on at once; as many as agents may run when absent.
    #[serde(default)]
    pub parallel: Option<u32>,
    /// How often a todo is tried again after a failure.
    pub retries: u32,
    /// How often the main agent may look at the result and plan anew.
    pub rounds: u32,
    /// Whether each worker has a checkout of its own, whose work is merged at the end.
    pub isolated: bool,
    /// Whether what is not committed is part of what the checkouts begin with.
    #[serde(default)]
    pub dirty: bool,
    /// Whether the user's branch moves when everything is merged and green.
    #[serde(default)]
    pub merge: bool,
    /// A shell command that must exit with code 0 after each merge.
    #[serde(default)]
    pub check: Option<String>,
    /// The plan file that it was read from.
    #[serde(default)]
    pub plan: Option<String>,
}

/// How a fleet's run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum FleetEnd {
    /// Every todo is done, and merged if it was to be.
    Done,
    /// Some todos are blocked.
    Blocked,
    /// Somebody stopped it.
    Stopped,
}
