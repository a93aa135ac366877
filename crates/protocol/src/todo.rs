//! Todos: the nodes of a session's work graph, and the fleet that works through it.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Clip, FLEET_DEPLOYED};

/// Maximum bytes of a goal that the user is told.
const MAX_GOAL_BYTES: usize = 64 * 1024;

/// The id of a todo, chosen by the author of the plan.
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

/// The status of a todo, as in the `todos` table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    /// Work on it has not started.
    #[default]
    Pending,
    /// It is being worked on.
    InProgress,
    /// It is done.
    Done,
    /// It cannot be done at present.
    Blocked,
}

impl TodoStatus {
    /// Every status.
    pub const ALL: [TodoStatus; 4] =
        [TodoStatus::Pending, TodoStatus::InProgress, TodoStatus::Done, TodoStatus::Blocked];

    /// The status as stored in the table.
    pub fn as_str(self) -> &'static str {
        match self {
            TodoStatus::Pending => "pending",
            TodoStatus::InProgress => "in_progress",
            TodoStatus::Done => "done",
            TodoStatus::Blocked => "blocked",
        }
    }

    /// The status with this name.
    pub fn from_name(name: &str) -> Option<TodoStatus> {
        TodoStatus::ALL.into_iter().find(|status| status.as_str() == name)
    }
}

/// A todo: a row of the `todos` table with its dependencies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Todo {
    /// Its id.
    pub id: TodoId,
    /// What is to be done, in one line.
    pub title: String,
    /// Details for the worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its status.
    pub status: TodoStatus,
    /// The todos that must be done first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<TodoId>,
    /// The agent type that should do it; the fleet's default when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<String>,
    /// The model that should do it.
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
    /// A todo without dependencies, with default values.
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

/// The result of a todo from an earlier run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReusedResult {
    /// The worker's final message.
    pub result: String,
    /// The commit that holds its work, if it still has to be merged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

/// Why a todo is blocked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum BlockReason {
    /// Its worker could not do it, or it was marked as blocked.
    Itself {
        /// The reason, for people.
        reason: String,
    },
    /// A todo that it depends on is blocked.
    Upstream {
        /// The nearest such todo.
        todo: TodoId,
    },
    /// It depends on itself.
    Cycle {
        /// The todos of the cycle, each depending on the next.
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

/// Formats a dependency cycle, beginning and ending with the same todo.
pub fn format_cycle(path: &[TodoId]) -> String {
    let names: Vec<&str> = path.iter().chain(path.first()).map(|todo| todo.0.as_str()).collect();
    names.join(" → ")
}

/// The configuration of a fleet. The runtime schedules the todos; the model only plans them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FleetConfig {
    /// Its goal, as the user wrote it.
    pub goal: String,
    /// The agent type for todos that do not name one; `general-purpose` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Maximum number of todos in progress at once; limited only by the number of agents when absent.
    #[serde(default)]
    pub parallel: Option<u32>,
    /// How often a todo is tried again after a failure.
    pub retries: u32,
    /// How often the root may review the result and plan again.
    pub rounds: u32,
    /// Whether each worker has its own checkout, which is merged at the end.
    pub isolated: bool,
    /// Whether the checkouts start with uncommitted changes.
    #[serde(default)]
    pub dirty: bool,
    /// Whether the user's branch is moved to the result when everything is merged and all checks pass.
    #[serde(default)]
    pub merge: bool,
    /// A shell command that must exit with code 0 after each merge.
    #[serde(default)]
    pub check: Option<String>,
    /// The plan file it was read from.
    #[serde(default)]
    pub plan: Option<String>,
}

impl FleetConfig {
    /// How often a todo is tried again after a failure, unless the user says otherwise.
    const DEFAULT_RETRIES: u32 = 1;

    /// How often the root may review the result of its own plan, unless the user says otherwise.
    const DEFAULT_ROUNDS: u32 = 3;

    /// A fleet whose root plans for this goal, with the default options; without a goal, for the existing todos.
    pub fn for_goal(goal: impl Into<String>) -> FleetConfig {
        FleetConfig {
            goal: goal.into(),
            agent: None,
            parallel: None,
            retries: FleetConfig::DEFAULT_RETRIES,
            rounds: FleetConfig::DEFAULT_ROUNDS,
            isolated: false,
            dirty: false,
            merge: false,
            check: None,
            plan: None,
        }
    }

    /// What the user is told when the fleet starts.
    pub fn announcement(&self) -> String {
        match self.goal.trim() {
            "" => FLEET_DEPLOYED.to_owned(),
            goal => format!("{FLEET_DEPLOYED}: {}", Clip::new(goal, MAX_GOAL_BYTES)),
        }
    }
}

/// How a fleet ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum FleetEnd {
    /// Every todo is done, and merged if requested.
    Done,
    /// Some todos are blocked.
    Blocked,
    /// It was stopped.
    Stopped,
}

/// Why a fleet was stopped, unless the user stopped it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum FleetStopReason {
    /// The session's budget is used up.
    Budget,
    /// Its time is up.
    Time,
    /// There was no usable plan.
    Unplanned {
        /// What is wrong with the plan, for people.
        problem: String,
    },
    /// Written by a newer version.
    #[serde(other)]
    Unknown,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_is_told_the_goal_of_a_fleet_that_starts() {
        let told = ["make it so\n", ""].map(|goal| FleetConfig::for_goal(goal).announcement());
        assert_eq!(told, ["Fleet deployed: make it so", "Fleet deployed"]);
    }
}
