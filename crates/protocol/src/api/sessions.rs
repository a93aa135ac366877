//! API types for sessions as a whole: lists of them, their logs, and asks in all of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::AskView;
use crate::{AskDecision, Cost, Envelope, SessionId, TaskId, Timestamp};

/// Which sessions to list, and which page of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct SessionsParams {
    /// Only sessions that work in this folder.
    pub cwd: Option<String>,
    /// Only sessions in this state.
    pub state: Option<String>,
    /// How many rows to skip.
    pub offset: u64,
    /// How many rows at most; 100 when absent.
    pub limit: Option<u64>,
}

/// One page of sessions, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionsPage {
    /// The rows.
    pub sessions: Vec<SessionOverview>,
    /// The total number of rows.
    pub total: u64,
}

/// A session in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionOverview {
    /// Its id.
    pub id: SessionId,
    /// Its state in one word, as in `session.get`; `damaged`, `newer` or `unreadable` if its file cannot be used.
    pub state: String,
    /// The folder it works in.
    pub cwd: String,
    /// The beginning of its first prompt.
    pub title: String,
    /// Its model.
    pub model: String,
    /// What it spent.
    pub spent: Cost,
    /// Whether the price of everything it spent is known.
    pub priced: bool,
    /// The process that runs it now.
    pub owner_pid: Option<u32>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When its last event was committed.
    pub updated_at: Timestamp,
}

/// The beginning of a session's id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SessionPrefixParams {
    /// The beginning of its id, or all of it.
    pub prefix: String,
}

/// A folder, as an absolute path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FolderParams {
    /// The folder.
    pub cwd: String,
}

/// Which session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SessionIdParams {
    /// The session.
    pub session: SessionId,
}

/// The session that was looked for, if there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FoundSession {
    /// The session.
    pub session: Option<SessionId>,
}

/// A log that was accepted although committed events are missing or differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RepairResult {
    /// The number of its last event.
    pub last_seq: u64,
}

/// The beginning of a task's id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaskPrefixParams {
    /// The beginning of its id, or all of it.
    pub prefix: String,
}

/// The sessions that have a task with this id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionsOfTask {
    /// The sessions, at most 10.
    pub sessions: Vec<SessionId>,
}

/// Which events of a session, and how many of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct EventsParams {
    /// Only events after this sequence number.
    pub after: u64,
    /// How many events at most; 100 when absent.
    pub limit: Option<u64>,
    /// Only events of this task.
    pub task: Option<TaskId>,
}

/// Events of a session, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventsPage {
    /// The events; fewer than wanted at the end of the log.
    pub events: Vec<Envelope>,
}

/// How a log is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum LogFormat {
    /// For people.
    #[default]
    Markdown,
    /// Every event, as JSON.
    Json,
}

/// How to export a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ExportParams {
    /// How its log is written.
    pub format: LogFormat,
}

/// A session's whole log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExportResult {
    /// The log.
    pub text: String,
    /// Why the log is not complete.
    pub damage: Option<String>,
}

/// Which asks of all sessions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct AllAsksParams {
    /// Whether to include asks that are decided or withdrawn.
    pub all: bool,
}

/// The asks of all sessions that may have open ones, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AllAsksResult {
    /// The asks.
    pub asks: Vec<SessionAskView>,
    /// The sessions that could not be read.
    pub unreadable: Vec<UnreadableSession>,
}

/// An ask with details of its session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionAskView {
    /// The ask.
    pub view: AskView,
    /// The folder that its session works in.
    pub cwd: String,
    /// The title of its session.
    pub title: String,
    /// The process that runs its session.
    pub owner_pid: Option<u32>,
    /// The decision that waits for the next owner of its session.
    pub queued_decision: Option<AskDecision>,
}

/// A session whose file could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnreadableSession {
    /// The session.
    pub session: SessionId,
    /// The reason.
    pub why: String,
}
