//! Calls of MCP servers' tools as tasks: tasks that a server does, and calls that take so long that they moved to the
//! background. The session stores what the server says of them, so that every view shows it, and the next owner of the
//! session finds the server's task again.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Number;

use crate::{TaskType, Timestamp};

/// The properties of a task of an MCP server's tool that are fixed at its start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpTaskSpec {
    /// The server's name in the settings.
    pub server: String,
    /// A digest of the server's definition: another server may have its name when the session is resumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<String>,
    /// The tool, by the server's name.
    pub tool: String,
    /// The server's own task; none for a call whose answer is the only thing to wait for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote: Option<McpRemoteTask>,
    /// When it started.
    pub started_at: Timestamp,
    /// When it ends although the server has not ended it.
    pub deadline_at: Timestamp,
}

/// A task as its server created it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpRemoteTask {
    /// The server's id for it.
    pub id: String,
    /// The form of the protocol in which it was created.
    pub form: McpTaskForm,
    /// The token with which the server reports progress.
    pub progress_token: String,
    /// How long the server keeps it, in milliseconds; for ever when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// How often the server wants to be asked for it, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub poll_interval_ms: Option<u64>,
}

/// A form of tasks in the protocol. A task can only be followed in the form in which it was created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum McpTaskForm {
    /// The tasks of revision 2025-11-25.
    #[serde(rename = "2025-11-25")]
    Session,
    /// The extension `io.modelcontextprotocol/tasks` of revision 2026-07-28.
    #[serde(rename = "2026-07-28")]
    Extension,
}

impl McpTaskForm {
    /// The revision of the protocol that it belongs to.
    pub const fn revision(self) -> &'static str {
        match self {
            McpTaskForm::Session => "2025-11-25",
            McpTaskForm::Extension => "2026-07-28",
        }
    }
}

/// What is known of a task of an MCP server's tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpTaskReport {
    /// Its properties. The times in it are the server's latest.
    pub spec: McpTaskSpec,
    /// How far the server is.
    pub status: McpTaskStatus,
    /// What the server says of its status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The progress that the server has reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<McpProgress>,
    /// What is wrong with the connection to the server, although the task goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
    /// When the server last answered a question about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub polled_at: Option<Timestamp>,
    /// When this report was made.
    pub updated_at: Timestamp,
}

/// How far a server is with a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum McpTaskStatus {
    /// It works.
    Working,
    /// It waits for an answer of the user.
    InputRequired,
    /// It has a result.
    Completed,
    /// It has failed.
    Failed,
    /// It was cancelled.
    Cancelled,
    /// The server does not know the task any more.
    Lost,
}

impl McpTaskStatus {
    /// The status in words.
    pub const fn as_str(self) -> &'static str {
        match self {
            McpTaskStatus::Working => "working",
            McpTaskStatus::InputRequired => "waiting for input",
            McpTaskStatus::Completed => "completed",
            McpTaskStatus::Failed => "failed",
            McpTaskStatus::Cancelled => "cancelled",
            McpTaskStatus::Lost => "lost",
        }
    }
}

/// Progress as a server counts it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpProgress {
    /// How much is done.
    pub done: Number,
    /// How much there is to do, if the server knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<Number>,
    /// What it does now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl fmt::Display for McpProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.done)?;
        if let Some(total) = &self.total {
            write!(f, " of {total}")?;
        }
        self.message.iter().try_for_each(|message| write!(f, ": {message}"))
    }
}

impl McpTaskReport {
    /// The report of a task that has just started.
    pub fn new(spec: McpTaskSpec, now: Timestamp) -> McpTaskReport {
        McpTaskReport {
            spec,
            status: McpTaskStatus::Working,
            message: None,
            progress: None,
            warning: None,
            polled_at: None,
            updated_at: now,
        }
    }

    /// The type of the task, if the server does it: a call becomes a task as soon as its server says so.
    pub fn task_type(&self) -> Option<TaskType> {
        self.spec.remote.is_some().then(|| TaskType::of_mcp(&self.spec))
    }

    /// Whether another report says the same, apart from its times.
    pub fn says_the_same(&self, other: &McpTaskReport) -> bool {
        let said = |report: &McpTaskReport| {
            let McpTaskReport { spec: _, status, message, progress, warning, polled_at: _, updated_at: _ } = report;
            (*status, message.clone(), progress.clone(), warning.clone())
        };
        said(self) == said(other)
    }

    /// What the server does now, in one line: its status and message, the progress, and the warning.
    pub fn summary(&self) -> String {
        let message = self.message.as_ref().map(|message| format!("{}: {message}", self.status.as_str()));
        let status = message.unwrap_or_else(|| self.status.as_str().to_owned());
        let parts = [self.progress.as_ref().map(McpProgress::to_string), self.warning.clone()];
        [Some(status)].into_iter().chain(parts).flatten().collect::<Vec<String>>().join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> McpTaskReport {
        let (server, tool) = ("calc".into(), "add".into());
        let (started_at, deadline_at) = (Timestamp(0), Timestamp(9));
        let spec = McpTaskSpec { server, definition: None, tool, remote: None, started_at, deadline_at };
        McpTaskReport::new(spec, started_at)
    }

    #[test]
    fn a_summary_has_everything_that_the_server_says() {
        assert_eq!(report().summary(), "working");
        let progress = McpProgress { done: 3.into(), total: Some(8.into()), message: Some("linking".into()) };
        let full = McpTaskReport {
            status: McpTaskStatus::InputRequired,
            message: Some("which one?".into()),
            progress: Some(progress),
            warning: Some("stream lost, polling".into()),
            ..report()
        };
        assert_eq!(full.summary(), "waiting for input: which one?; 3 of 8: linking; stream lost, polling");
    }

    #[test]
    fn times_alone_are_no_news() {
        let later = McpTaskReport { polled_at: Some(Timestamp(5)), updated_at: Timestamp(5), ..report() };
        assert!(later.says_the_same(&report()));
        let failed = McpTaskReport { status: McpTaskStatus::Failed, ..report() };
        assert!(!failed.says_the_same(&report()));
    }
}
