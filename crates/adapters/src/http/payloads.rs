//! Types that only the HTTP API uses. All others are those of the session API.

use protocol::{AskDecision, Image, MailDelivery, SessionId, Timestamp, TodoId};
use protocol::{CancelMode, TodoStatus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Information about the server.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ServerInfo {
    /// The version of Bosun.
    pub(super) version: String,
    /// How many sessions run in this server.
    pub(super) sessions: u64,
}

/// Which sessions to list, and which page of them.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct SessionListQuery {
    /// Only sessions that work in this folder.
    pub(super) cwd: Option<String>,
    /// Only sessions whose root is in this state.
    pub(super) state: Option<String>,
    /// How many rows to skip.
    pub(super) offset: u64,
    /// How many rows at most; 100 when absent.
    pub(super) limit: Option<u64>,
}

/// One page of sessions, newest first.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct SessionsPage {
    /// The rows.
    pub(super) sessions: Vec<SessionOverview>,
    /// The total number of rows.
    pub(super) total: u64,
}

/// A session in a list.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct SessionOverview {
    /// Its id.
    pub(super) id: SessionId,
    /// Its root's state in one word; `damaged`, `newer` or `unreadable` if its file cannot be used.
    pub(super) state: String,
    /// The folder it works in.
    pub(super) cwd: String,
    /// The beginning of its first prompt.
    pub(super) title: String,
    /// Its model.
    pub(super) model: String,
    /// The process that runs it now.
    pub(super) owner_pid: Option<u32>,
    /// When it was created.
    pub(super) created_at: Timestamp,
    /// When its last event was committed.
    pub(super) updated_at: Timestamp,
}

/// A message.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct MessageBody {
    /// The text.
    pub(super) text: String,
    /// Images to send with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) images: Vec<Image>,
    /// When the message may be read.
    #[serde(default = "follow_up")]
    pub(super) delivery: MailDelivery,
    /// What people see instead of the text, if it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) display: Option<String>,
}

fn follow_up() -> MailDelivery {
    MailDelivery::FollowUp
}

/// How a task is stopped.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct StopOptions {
    /// After one last turn, or at once.
    #[serde(default = "wrap_up")]
    pub(super) how: CancelMode,
}

fn wrap_up() -> CancelMode {
    CancelMode::WrapUp
}

/// The decision on an ask.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct DecisionBody {
    /// The decision.
    pub(super) decision: AskDecision,
}

/// The input of a slash command.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct CommandInput {
    /// The text after the command's name.
    pub(super) input: String,
}

/// Changes to a todo; absent fields stay as they are.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct TodoPatch {
    /// What to do, in one line.
    pub(super) title: Option<String>,
    /// What the worker must know.
    pub(super) description: Option<String>,
    /// The status.
    pub(super) status: Option<TodoStatus>,
    /// Why it is blocked; sent together with the status.
    pub(super) reason: Option<String>,
    /// The todos that must be done first.
    pub(super) depends_on: Option<Vec<TodoId>>,
    /// The agent type of the worker.
    pub(super) agent_type: Option<String>,
    /// The model of the worker.
    pub(super) model: Option<String>,
    /// Patterns of the files that the worker reads and changes.
    pub(super) files: Option<Vec<String>>,
    /// A shell command that must exit with code 0 when it is done.
    pub(super) check: Option<String>,
    /// A JSON Schema that the worker's answer must satisfy, as written.
    pub(super) expects: Option<String>,
}

/// Where an event stream starts.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct EventsQuery {
    /// The last sequence number that the client received; the `Last-Event-ID` header takes precedence.
    pub(super) after: u64,
}
