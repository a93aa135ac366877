//! What the API says of tasks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Activation, Attempt, CancelBy, CancelMode, Cost, Evidence, Expectations, MailDelivery, MailId, ModelUse, Principal,
    ReasoningEffort, TaskId, TaskMode, TaskOutcome, TaskState, TaskStatus, TaskType, Timestamp, Turn, Usage,
};

/// One task as every view shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskView {
    /// Its id.
    pub id: TaskId,
    /// The task that started it.
    pub parent: Option<TaskId>,
    /// What sort of work it is.
    pub kind: TaskType,
    /// Who performs it.
    pub agent: String,
    /// What people call it.
    pub name: String,
    /// Its path, such as `/root/tests`.
    pub path: String,
    /// How many tasks are above it.
    pub depth: u32,
    /// What it is for.
    pub description: String,
    /// What it was told first, clipped; the command of a command.
    pub prompt: Option<String>,
    /// Where its result goes.
    pub mode: TaskMode,
    /// The model that was wanted for it and the one that is asked; the session's when absent.
    pub model: Option<ModelUse>,
    /// The model that answered last, as its provider named it.
    pub reported_model: Option<String>,
    /// How hard its model should think; as the session's when absent.
    pub effort: Option<ReasoningEffort>,
    /// Its state. What runs without a living owner is interrupted, or lost if it is a command.
    pub state: TaskState,
    /// The same in the five words that smaller surfaces know.
    pub status: TaskStatus,
    /// Since when it shows no sign of life, although it runs.
    pub stalled_since_at: Option<Timestamp>,
    /// Who asked it to stop.
    pub cancel: Option<CancelView>,
    /// Whether a person has no use for it any more.
    pub forgotten: bool,
    /// Which run from prompt or message to rest it is in, or was in last.
    pub activation: Activation,
    /// Which try at that.
    pub attempt: Attempt,
    /// How many pieces of mail it has not read.
    pub unread: u64,
    /// How its last activation ended.
    pub last_outcome: Option<TaskOutcome>,
    /// What it last said it is doing.
    pub intent: Option<String>,
    /// The text of its last ended activation, clipped.
    pub result: Option<String>,
    /// Turns taken.
    pub turns: u64,
    /// Tokens used.
    pub usage: Usage,
    /// Cost in millionths of a US dollar.
    pub cost_micros: u64,
    /// Whether everything that it spent has a price, so that the cost is all there is.
    pub priced: bool,
    /// How often its calls changed a file.
    pub changes: u64,
    /// How many commands its calls ran.
    pub commands: u64,
    /// When it was made.
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

/// A wish that a task should stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CancelView {
    /// Whose.
    pub by: CancelBy,
    /// How firm.
    pub how: CancelMode,
    /// When the task is stopped at once, if it may still take a last turn.
    pub until_at: Option<Timestamp>,
}

/// Everything that is kept of one task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskRecord {
    /// The task.
    pub task: TaskView,
    /// What must hold when it says that it is done.
    pub expects: Option<Expectations>,
    /// Its newest mail, oldest first.
    pub mail: Vec<MailView>,
    /// How much mail it got in all.
    pub mail_total: u64,
    /// Its newest turns, oldest first.
    pub turns: Vec<TurnView>,
    /// How many turns it began in all.
    pub turns_total: u64,
    /// What its calls left behind, newest last, each thing once.
    pub evidence: Vec<Evidence>,
}

/// One piece of mail, with its receipts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MailView {
    /// Its number.
    pub mail: MailId,
    /// Who wrote it.
    pub from: Principal,
    /// When it may be read.
    pub delivery: MailDelivery,
    /// What it says, clipped.
    pub text: String,
    /// When it was admitted.
    pub admitted_at: Timestamp,
    /// What became of it.
    pub state: MailState,
    /// When that was.
    pub moved_at: Option<Timestamp>,
}

/// What became of a piece of mail.
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
    /// What the turn is counted as, tries without an answer included.
    pub spent: Cost,
    /// Whether all of that has a price.
    pub priced: bool,
    /// When the model was first asked.
    pub begun_at: Timestamp,
    /// When its last try ended.
    pub ended_at: Option<Timestamp>,
    /// What the model said and which tools it called, the middle left out if that is long.
    #[serde(default)]
    pub text: Option<String>,
}

/// Which tasks are wanted, and which page of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TasksParams {
    /// How many rows to pass over.
    pub offset: u64,
    /// How many rows at most; 100 when absent.
    pub limit: Option<u64>,
    /// Only those in this state, by its word.
    pub state: Option<String>,
    /// Only those of this sort.
    pub kind: Option<TaskType>,
    /// Only the task with this path and those below it.
    pub below: Option<String>,
    /// Those that were forgotten too.
    pub all: bool,
}

impl TasksParams {
    /// Every task that was not forgotten, on one page.
    pub fn all_tasks() -> TasksParams {
        TasksParams { limit: Some(u64::MAX), ..TasksParams::default() }
    }
}

/// One page of tasks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TasksPage {
    /// The rows.
    pub tasks: Vec<TaskView>,
    /// How many there are in all.
    pub total: u64,
}

/// Which task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskParams {
    /// The task.
    pub task: TaskId,
}

/// What a task printed or said last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OutputResult {
    /// Its head and its tail.
    pub output: String,
}

/// Which task is to stop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StopTaskParams {
    /// The task.
    pub task: TaskId,
    /// How firmly.
    pub how: CancelMode,
}
