//! Tasks: their specs, public states and outcomes.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Budget, CallId, DefinitionId, ExternalTaskSpec, McpTaskSpec, OwnerLoss, ReasoningEffort, TaskId, TaskType,
    Timestamp, TodoId,
};

/// What happens to a task when its activation completes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CompletionPolicy {
    /// The task is finished.
    Finish,
    /// The task is idle until a message starts its next activation.
    Idle,
}

/// Where a task's result goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TaskMode {
    /// To the tool call that waits for it.
    Sync,
    /// To its parent's inbox.
    Background,
}

/// The properties of a task that are fixed at its start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskSpec {
    /// The task that started it; none for the root.
    pub parent: Option<TaskId>,
    /// Its type.
    pub kind: TaskType,
    /// The name of its agent definition, or of its type for a command.
    pub agent: String,
    /// Its display name; unique among its siblings.
    pub name: String,
    /// One line on what it is for.
    pub description: String,
    /// Where its result goes.
    pub mode: TaskMode,
    /// Its completion policy.
    pub on_complete: CompletionPolicy,
    /// Maximum turns of an activation.
    pub max_turns: Option<u32>,
    /// What it and everything below it may spend.
    pub budget: Budget,
    /// The id of its agent definition, as stored in the session.
    #[serde(default)]
    pub definition: Option<DefinitionId>,
    /// Its model; the session's when absent.
    #[serde(default)]
    pub model: Option<ModelUse>,
    /// How hard its model should think; the session's effort when absent.
    #[serde(default)]
    pub effort: Option<ReasoningEffort>,
    /// The expectations on its result.
    #[serde(default)]
    pub expects: Option<Expectations>,
    /// The tool call of its parent that started it.
    #[serde(default)]
    pub call: Option<CallId>,
    /// The todo it was started for, which it claims while it works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub todo: Option<TodoId>,
    /// Whether it works in its own checkout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    /// The todo whose changes it was started to merge with others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merges: Option<TodoId>,
    /// Where its runs take place; in the process that runs the session when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<PlaceName>,
    /// What its client names, if a client does it itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external: Option<Box<ExternalTaskSpec>>,
    /// The server and the tool, if an MCP server does it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mcp: Option<Box<McpTaskSpec>>,
    /// What a side question asks besides its prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<Box<QuestionSpec>>,
    /// How long a monitor pauses between two runs of its command, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every_secs: Option<u32>,
}

/// What a side question asks besides its prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QuestionSpec {
    /// The system prompt.
    pub system: String,
    /// Maximum tokens of the answer.
    pub max_output: u32,
}

/// The name of a place where runs can take place, such as another process or machine.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct PlaceName(pub Box<str>);

impl PlaceName {
    /// A process of the task's own, on the machine of its session.
    pub fn own_process() -> PlaceName {
        PlaceName("process".into())
    }
}

impl fmt::Display for PlaceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A separate place for a task to work in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Isolation {
    /// A private checkout of the repository that the session works in.
    Worktree {
        /// The commit it starts from; the session's HEAD when absent.
        #[serde(default)]
        base: Option<String>,
        /// Whether it also contains uncommitted changes.
        #[serde(default)]
        dirty: bool,
    },
}

impl TaskSpec {
    /// A task of this type with default values: it reports to its parent's inbox and then is finished.
    pub fn new(kind: TaskType, agent: impl Into<String>, name: impl Into<String>) -> TaskSpec {
        TaskSpec {
            parent: None,
            kind,
            agent: agent.into(),
            name: name.into(),
            description: String::new(),
            mode: TaskMode::Background,
            on_complete: CompletionPolicy::Finish,
            max_turns: None,
            budget: Budget::default(),
            definition: None,
            model: None,
            effort: None,
            expects: None,
            call: None,
            todo: None,
            isolation: None,
            merges: None,
            place: None,
            external: None,
            mcp: None,
            question: None,
            every_secs: None,
        }
    }
}

/// The model of a task, and the one that was requested.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelUse {
    /// The model requested by a call or by the agent's definition.
    #[serde(default)]
    pub requested: Option<String>,
    /// The model in use, as for `--model`.
    pub effective: String,
    /// Why they differ.
    #[serde(default)]
    pub why: Option<String>,
}

impl ModelUse {
    /// Whether the task uses the session's model because no other was requested or available.
    pub fn is_session_model(&self) -> bool {
        self.why.is_some() || self.requested.as_deref().is_none_or(|requested| requested == "inherit")
    }
}

/// Conditions that must hold when a task reports that it is done. The runtime checks them itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Expectations {
    /// File patterns: at least one matching file must have been changed for each.
    pub files: Vec<String>,
    /// A shell command that must exit with code 0.
    pub command: Option<String>,
    /// A JSON Schema that the final answer must satisfy.
    pub schema: Option<serde_json::Value>,
}

/// What the runtime observed of a tool call, independent of the model's report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Evidence {
    /// A file of the workspace was created, changed or removed.
    Changed {
        /// Its path in the workspace.
        path: String,
    },
    /// A command was run.
    Ran {
        /// The command, clipped.
        command: String,
        /// Its exit code; none when a signal ended it.
        exit: Option<i32>,
    },
}

/// The work of a task from one prompt or message until it is idle or finished, numbered from 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Activation(pub u32);

/// One try at an activation, numbered from 1. A new attempt begins when an interrupted or parked activation is resumed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Attempt(pub u32);

/// One run of a task. The kernel ignores reports from all runs except the current one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunId {
    /// The task.
    pub task: TaskId,
    /// Which of its activations.
    pub activation: Activation,
    /// Which attempt at that activation.
    pub attempt: Attempt,
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} activation {} attempt {}", self.task, self.activation.0, self.attempt.0)
    }
}

/// Why a task cannot call its model for now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ParkReason {
    /// A quota of the provider is used up.
    #[default]
    Quota,
    /// The provider refuses the key that it accepted before.
    Auth,
    /// The day's budget is used up.
    DayBudget,
}

impl ParkReason {
    /// What a parked task waits for, for people.
    pub fn describe(self) -> &'static str {
        match self {
            ParkReason::Quota => "the provider's quota to reset",
            ParkReason::Auth => "a valid API key",
            ParkReason::DayBudget => "the budget of the next day (UTC)",
        }
    }
}

/// A task's state, as all views show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum TaskState {
    /// It waits for a slot.
    Queued,
    /// It works, or waits for its children.
    Running,
    /// It is between two activations; a message starts the next one.
    Idle,
    /// It cannot call its model for now, and resumes automatically or when the session is opened again.
    Parked {
        /// When it resumes automatically; absent when a person must act first.
        #[serde(default)]
        until_at: Option<Timestamp>,
        /// What it waits for.
        #[serde(default)]
        why: ParkReason,
    },
    /// Its owner died; the process that adopts the session continues it.
    Interrupted,
    /// It has ended for good.
    Finished {
        /// How it ended.
        outcome: TaskOutcome,
    },
}

impl TaskState {
    /// Whether it neither works nor is about to: it ended, or waits for messages or another owner.
    pub fn is_at_rest(&self) -> bool {
        match self {
            TaskState::Idle | TaskState::Interrupted | TaskState::Finished { .. } => true,
            TaskState::Queued | TaskState::Running | TaskState::Parked { .. } => false,
        }
    }

    /// The names of all states.
    pub const NAMES: [&str; 11] = [
        "queued",
        "running",
        "idle",
        "parked",
        "interrupted",
        "completed",
        "failed",
        "cancelled",
        "timed_out",
        "budget_exhausted",
        "lost",
    ];

    /// The state in one word.
    pub fn as_str(&self) -> &'static str {
        match self {
            TaskState::Queued => "queued",
            TaskState::Running => "running",
            TaskState::Idle => "idle",
            TaskState::Parked { .. } => "parked",
            TaskState::Interrupted => "interrupted",
            TaskState::Finished { outcome } => outcome.as_str(),
        }
    }

    /// The state of a task once its owner is dead: an agent can be continued later, a command cannot.
    pub fn without_owner(self, kind: TaskType) -> TaskState {
        match (self, kind.on_owner_loss()) {
            (TaskState::Running, OwnerLoss::Lost) => TaskState::Finished { outcome: TaskOutcome::Lost },
            (TaskState::Running | TaskState::Queued, OwnerLoss::Resume | OwnerLoss::Orphaned) => TaskState::Interrupted,
            (state, OwnerLoss::Resume | OwnerLoss::Lost | OwnerLoss::Orphaned) => state,
        }
    }

    /// The state as one of five coarse states.
    pub fn status(&self) -> TaskStatus {
        match self {
            TaskState::Queued | TaskState::Running | TaskState::Parked { .. } | TaskState::Interrupted => {
                TaskStatus::Running
            }
            TaskState::Idle => TaskStatus::Idle,
            TaskState::Finished { outcome } => match outcome {
                TaskOutcome::Completed => TaskStatus::Completed,
                TaskOutcome::Cancelled { .. } => TaskStatus::Cancelled,
                TaskOutcome::Failed { .. }
                | TaskOutcome::TimedOut { .. }
                | TaskOutcome::BudgetExhausted
                | TaskOutcome::Lost => TaskStatus::Failed,
            },
        }
    }
}

/// Five coarse states for simple clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TaskStatus {
    /// It is running or will run.
    Running,
    /// It is between two activations.
    Idle,
    /// It completed.
    Completed,
    /// It failed.
    Failed,
    /// It was stopped.
    Cancelled,
}

/// How an activation or a task ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum TaskOutcome {
    /// It ended with a final message; all its calls were answered and all awaited children had ended.
    Completed,
    /// It could not continue.
    Failed {
        /// How it failed.
        kind: FailKind,
        /// What happened, for people.
        message: String,
    },
    /// It was stopped.
    Cancelled {
        /// Who stopped it.
        by: CancelBy,
    },
    /// It reached a limit.
    TimedOut {
        /// Which limit.
        limit: LimitKind,
    },
    /// Its budget was used up.
    BudgetExhausted,
    /// It cannot be resumed, and how it ended is unknown.
    Lost,
}

impl TaskOutcome {
    /// The outcome in one word.
    pub fn as_str(&self) -> &'static str {
        match self {
            TaskOutcome::Completed => "completed",
            TaskOutcome::Failed { .. } => "failed",
            TaskOutcome::Cancelled { .. } => "cancelled",
            TaskOutcome::TimedOut { .. } => "timed_out",
            TaskOutcome::BudgetExhausted => "budget_exhausted",
            TaskOutcome::Lost => "lost",
        }
    }
}

/// How a task failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum FailKind {
    /// The model or its provider failed.
    Model,
    /// The model ended without an answer, or was cut off.
    NoAnswer,
    /// A shell command exited with a code other than 0, or could not start.
    Exit,
    /// Its result does not meet the expectations.
    Contract,
    /// It was silent for too long.
    Stalled,
    /// A hook denied its start.
    Denied,
    /// The client or the server that does it reported that it failed.
    Reported,
    /// The runtime itself failed.
    Internal,
}

/// Who stopped a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CancelBy {
    /// A person.
    User,
    /// Another agent.
    Agent,
    /// The end of the task that started it.
    Parent,
    /// The end of its session's run.
    SessionEnd,
    /// The MCP server that does it.
    Server,
}

/// Which limit a task reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum LimitKind {
    /// `--max-turns`.
    Turns,
    /// A time limit.
    Time,
}

/// Why an activation takes one last turn, without tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum WrapUpReason {
    /// Its budget is nearly used up.
    Budget,
    /// Its time is up.
    Time,
    /// The turn limit of the task or of the whole session is reached.
    Turns,
    /// It was asked to stop.
    Stop,
    /// It reported on its objective and still writes a final message.
    Reported,
    /// On autopilot, it repeats itself and nothing changes.
    NoChange,
}

impl WrapUpReason {
    /// Whether the activation counts as completed after its last turn, since it was not cut short.
    pub fn counts_as_completed(self) -> bool {
        match self {
            WrapUpReason::Reported | WrapUpReason::NoChange => true,
            WrapUpReason::Budget | WrapUpReason::Time | WrapUpReason::Turns | WrapUpReason::Stop => false,
        }
    }
}

/// What blocked the end of an activation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum StopBlocker {
    /// A hook.
    Hook,
    /// An expectation that its result does not meet.
    Expects,
}

/// How a task is stopped. An abort replaces an earlier wrap-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CancelMode {
    /// After one last turn without tools.
    WrapUp,
    /// At once.
    Abort,
}

/// Which of the awaited tasks must end before the waiting task continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum WaitMode {
    /// One of them.
    Any,
    /// All of them.
    All,
    /// None: the waiting run ends the wait itself.
    Manual,
}
