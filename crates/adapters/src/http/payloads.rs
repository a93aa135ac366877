//! What is said over HTTP and nowhere else. Everything else is the API's own.

use std::num::{NonZeroU32, NonZeroU64};

use protocol::{
    AskDecision, Image, ListName, MailDelivery, PermissionMode, ReasoningEffort, SessionId, SessionMode, Timestamp,
    TodoId,
};
use protocol::{CancelMode, TodoStatus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What serves here.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ServerInfo {
    /// The version of Bosun.
    pub(super) version: String,
    /// How many sessions run here.
    pub(super) sessions: u64,
}

/// How a session begins, or goes on. What is absent is as the settings say, or as it was before.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct SessionOptions {
    /// What it is told first.
    pub(super) prompt: Option<String>,
    /// The folder it works in, from the root; where it worked before, or the server's.
    pub(super) cwd: Option<String>,
    /// The model, as `--model` takes it.
    pub(super) model: Option<String>,
    /// How hard the model thinks before it answers.
    pub(super) effort: Option<ReasoningEffort>,
    /// How far its own agent goes by itself.
    pub(super) mode: Option<SessionMode>,
    /// What becomes of calls that no rule speaks of.
    pub(super) permission: Option<PermissionMode>,
    /// Rules of calls that are allowed, such as `shell(git status)`.
    pub(super) allow: Vec<String>,
    /// Rules of calls that are asked about, whatever else allows them.
    pub(super) ask: Vec<String>,
    /// Rules of calls that are denied, whatever else allows them.
    pub(super) deny: Vec<String>,
    /// More folders that file tools may reach.
    pub(super) add_dirs: Vec<String>,
    /// Most turns of one activation.
    pub(super) max_turns: Option<NonZeroU32>,
    /// Most US dollars that it may cost in all.
    pub(super) max_budget_usd: Option<f64>,
    /// Most tokens that it may use in all.
    pub(super) max_tokens: Option<NonZeroU64>,
    /// The list that its agents share.
    pub(super) list: Option<ListName>,
    /// The agent that is talked to instead of the usual one.
    pub(super) agent: Option<String>,
    /// More agents, by name, as `--agents` takes them.
    pub(super) agents: Option<Map<String, Value>>,
    /// Whether the model may ask questions; it may when absent.
    pub(super) ask_user: Option<bool>,
    /// How many seconds a call waits for a decision before it is denied; for ever when absent.
    pub(super) ask_wait_seconds: Option<u32>,
}

/// Which sessions are wanted, and which page of them.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct SessionListQuery {
    /// Only those that work in this folder.
    pub(super) cwd: Option<String>,
    /// Only those whose root is in this state, by its word.
    pub(super) state: Option<String>,
    /// How many rows to pass over.
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
    /// How many there are in all.
    pub(super) total: u64,
}

/// A session as it is listed.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct SessionOverview {
    /// Its id.
    pub(super) id: SessionId,
    /// Its root's state in one word; `damaged`, `newer` or `unreadable` when its file does not tell.
    pub(super) state: String,
    /// The folder it works in.
    pub(super) cwd: String,
    /// The first words it was given.
    pub(super) title: String,
    /// The model it asks.
    pub(super) model: String,
    /// The process that runs it now.
    pub(super) owner_pid: Option<u32>,
    /// When it began.
    pub(super) created_at: Timestamp,
    /// When its last event was committed.
    pub(super) updated_at: Timestamp,
}

/// A message.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct MessageBody {
    /// The words.
    pub(super) text: String,
    /// Pictures that go with them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) images: Vec<Image>,
    /// When they may be read.
    #[serde(default = "follow_up")]
    pub(super) delivery: MailDelivery,
    /// What people are shown in place of the words, if that is something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) display: Option<String>,
}

fn follow_up() -> MailDelivery {
    MailDelivery::FollowUp
}

/// How firmly a task is stopped.
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

/// What is decided on an ask.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct DecisionBody {
    /// The decision.
    pub(super) decision: AskDecision,
}

/// What follows the name of a slash command.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct CommandInput {
    /// The words.
    pub(super) input: String,
}

/// What becomes different of a todo; what is absent stays.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct TodoPatch {
    /// What is to be done, in one line.
    pub(super) title: Option<String>,
    /// What whoever does it must know.
    pub(super) description: Option<String>,
    /// How far it is, and why.
    pub(super) status: Option<TodoStatus>,
    /// Why it is blocked. It goes with the status.
    pub(super) reason: Option<String>,
    /// The todos that must be done first.
    pub(super) depends_on: Option<Vec<TodoId>>,
    /// The agent that is to do it.
    pub(super) agent_type: Option<String>,
    /// The model that is to do it.
    pub(super) model: Option<String>,
    /// Patterns of the files that it reads and changes.
    pub(super) files: Option<Vec<String>>,
    /// A shell command that must exit with code 0 when it is done.
    pub(super) check: Option<String>,
    /// A JSON Schema that the worker's answer must satisfy, as written.
    pub(super) expects: Option<String>,
}

/// Where a stream of events begins.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct EventsQuery {
    /// The last sequence number that the client has seen; the header `Last-Event-ID` counts instead if it is there.
    pub(super) after: u64,
}
