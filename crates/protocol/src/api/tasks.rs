//! API types for tasks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Activation, Attempt, CancelBy, CancelMode, Cost, Evidence, Expectations, ExternalReport, MailDelivery, MailId,
    McpTaskReport, ModelUse, Principal, ReasoningEffort, TaskId, TaskMode, TaskOutcome, TaskState, TaskStatus,
    TaskType, Timestamp, Turn, Usage,
};

/// One task as every view shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskView {
    /// Its id.
    pub id: TaskId,
    /// The task that started it.
    pub parent: Option<TaskId>,
    /// Its task type.
    pub kind: TaskType,
    /// The agent type that performs it.
    pub agent: String,
    /// Its display name.
    pub name: String,
    /// Its path, such as `/root/tests`.
    pub path: String,
    /// How many tasks are above it.
    pub depth: u32,
    /// What it is for.
    pub description: String,
    /// Its first prompt, clipped; for a shell task, the command.
    pub prompt: Option<String>,
    /// Where its result goes.
    pub mode: TaskMode,
    /// The model that was requested for it and the one it uses; the session's when absent.
    pub model: Option<ModelUse>,
    /// The model that answered last, as its provider named it.
    pub reported_model: Option<String>,
    /// How hard its model should think; the session's effort when absent.
    pub effort: Option<ReasoningEffort>,
    /// Its state. Without a living owner, a running task is shown as interrupted, or lost if it is a command.
    pub state: TaskState,
    /// The same state, as one of five coarse states.
    pub status: TaskStatus,
    /// Since when it has been silent while running.
    pub stalled_since_at: Option<Timestamp>,
    /// Who asked it to stop.
    pub cancel: Option<CancelView>,
    /// Whether the user removed its record.
    pub forgotten: bool,
    /// Its current or latest activation.
    pub activation: Activation,
    /// The attempt at that activation.
    pub attempt: Attempt,
    /// How many pieces of mail it has not read.
    pub unread: u64,
    /// How its last activation ended.
    pub last_outcome: Option<TaskOutcome>,
    /// What it last reported it is doing.
    pub intent: Option<String>,
    /// How far the tool is that it has called, as the tool reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<String>,
    /// The text of its last ended activation, clipped.
    pub result: Option<String>,
    /// What its client reported of it, if a client does it itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external: Option<Box<ExternalReport>>,
    /// What is known of it, if an MCP server does it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mcp: Option<Box<McpTaskReport>>,
    /// Turns taken.
    pub turns: u64,
    /// Tokens used.
    pub usage: Usage,
    /// Cost in millionths of a US dollar.
    pub cost_micros: u64,
    /// Whether the price of everything it spent is known, so that the cost is complete.
    pub priced: bool,
    /// How often its calls changed a file.
    pub changes: u64,
    /// How many commands its calls ran.
    pub commands: u64,
    /// When it was created.
    pub created_at: Timestamp,
    /// Since when it waits for a slot.
    pub queued_at: Option<Timestamp>,
    /// When its activation began.
    pub started_at: Option<Timestamp>,
    /// When its activation ended.
    pub ended_at: Option<Timestamp>,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// A request to stop a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CancelView {
    /// Who asked.
    pub by: CancelBy,
    /// Whether the task may take a last turn.
    pub how: CancelMode,
    /// When the task is stopped at once, if it may still take a last turn.
    pub until_at: Option<Timestamp>,
}

/// The full record of one task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskRecord {
    /// The task.
    pub task: TaskView,
    /// The expectations on its result.
    pub expects: Option<Expectations>,
    /// Its newest mail, oldest first.
    pub mail: Vec<MailView>,
    /// How much mail it got in total.
    pub mail_total: u64,
    /// Its newest turns, oldest first.
    pub turns: Vec<TurnView>,
    /// How many turns it began in total.
    pub turns_total: u64,
    /// What the runtime observed of its calls, newest last, without repeats.
    pub evidence: Vec<Evidence>,
}

/// One piece of mail, with its receipts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MailView {
    /// Its number.
    pub mail: MailId,
    /// The sender.
    pub from: Principal,
    /// When it may be read.
    pub delivery: MailDelivery,
    /// The text, clipped.
    pub text: String,
    /// When it was admitted.
    pub admitted_at: Timestamp,
    /// Its delivery state.
    pub state: MailState,
    /// When it got into that state.
    pub moved_at: Option<Timestamp>,
}

/// The delivery state of a piece of mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum MailState {
    /// It waits for its reader.
    Admitted,
    /// It joined its reader's conversation.
    Delivered,
    /// Its reader ended first.
    Expired,
}

impl MailState {
    /// The state in one word.
    pub fn as_str(self) -> &'static str {
        match self {
            MailState::Admitted => "admitted",
            MailState::Delivered => "delivered",
            MailState::Expired => "expired",
        }
    }
}

/// One turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnView {
    /// Its number.
    pub turn: Turn,
    /// The activation it belongs to.
    pub activation: Activation,
    /// The model that was asked.
    pub requested_model: String,
    /// The model that answered, as its provider named it.
    pub reported_model: Option<String>,
    /// What the answer used.
    pub usage: Usage,
    /// The cost of the turn, including requests without an answer.
    pub spent: Cost,
    /// Whether the price of all of that is known.
    pub priced: bool,
    /// When its first request was sent.
    pub begun_at: Timestamp,
    /// When its last request ended.
    pub ended_at: Option<Timestamp>,
    /// The model's text and tool calls; the middle is left out if it is long.
    #[serde(default)]
    pub text: Option<String>,
}

/// Which tasks are wanted, and which page of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TasksParams {
    /// How many rows to skip.
    pub offset: u64,
    /// How many rows at most; 100 when absent.
    pub limit: Option<u64>,
    /// Only tasks in the state with this name.
    pub state: Option<String>,
    /// Only tasks of this type.
    pub kind: Option<TaskType>,
    /// Only the task with this path and those below it.
    pub below: Option<String>,
    /// Whether to include forgotten tasks and side questions.
    pub all: bool,
}

impl TasksParams {
    /// Every task that was not forgotten, on one page.
    pub fn all_tasks() -> TasksParams {
        TasksParams { limit: Some(u64::MAX), ..TasksParams::default() }
    }

    /// The session's root.
    pub fn root() -> TasksParams {
        TasksParams { kind: TaskType::ALL.into_iter().find(|kind| kind.is_root()), ..TasksParams::default() }
    }
}

/// One page of tasks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TasksPage {
    /// The rows.
    pub tasks: Vec<TaskView>,
    /// How many there are in total.
    pub total: u64,
}

/// Which task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskParams {
    /// The task.
    pub task: TaskId,
}

/// A task's latest output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OutputResult {
    /// Its head and its tail.
    pub output: String,
}

/// A task to stop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StopTaskParams {
    /// The task.
    pub task: TaskId,
    /// Whether the task may take a last turn.
    pub how: CancelMode,
}
