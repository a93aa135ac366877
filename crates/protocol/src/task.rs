//! Tasks: their kinds, their states as the outside sees them, and how they end.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Budget, CallId, DefinitionId, ReasoningEffort, TaskId, Timestamp, TodoId};

/// What sort of work a task is, and so which executor performs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TaskType {
    /// The session's root conversation.
    Main,
    /// An agent that another agent started.
    Agent,
    /// A shell command in the background.
    Shell,
}

/// What becomes of a task whose activation completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CompletionPolicy {
    /// It is finished.
    Finish,
    /// It rests, and a message starts its next activation.
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

/// Everything fixed about a task at its start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskSpec {
    /// The task that started it; none for the root.
    pub parent: Option<TaskId>,
    /// What sort of work it is.
    pub kind: TaskType,
    /// The agent definition that performs it, or the program's name for a shell command.
    pub agent: String,
    /// What people call it; unique among its siblings.
    pub name: String,
    /// One line on what it is for.
    pub description: String,
    /// Where its result goes.
    pub mode: TaskMode,
    /// What becomes of it when an activation completes.
    pub on_complete: CompletionPolicy,
    /// Most turns an activation may take.
    pub max_turns: Option<u32>,
    /// What it and everything below it may spend.
    pub budget: Budget,
    /// The definition of its agent, as the session keeps it.
    #[serde(default)]
    pub definition: Option<DefinitionId>,
    /// The model that performs it; the session's when absent.
    #[serde(default)]
    pub model: Option<ModelUse>,
    /// How hard its model should think; as the session's when absent.
    #[serde(default)]
    pub effort: Option<ReasoningEffort>,
    /// What must hold when it says that it is done.
    #[serde(default)]
    pub expects: Option<Expectations>,
    /// The tool call of its parent that started it.
    #[serde(default)]
    pub call: Option<CallId>,
    /// The todo that it was started to do, and holds as long as it is at work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub todo: Option<TodoId>,
    /// Whether it works in a checkout of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    /// The todo whose work it was started to fit to that of others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merges: Option<TodoId>,
}

/// A place of its own that a task works in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Isolation {
    /// A private checkout of the repository that the session works in.
    Worktree {
        /// The commit it begins with; the session's HEAD when absent.
        #[serde(default)]
        base: Option<String>,
        /// Whether it begins with what is not committed as well.
        #[serde(default)]
        dirty: bool,
    },
}

impl TaskSpec {
    /// A task of this kind that nothing special is said of: it reports to its parent's inbox and then is finished.
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
        }
    }
}

/// Which model performs a task, and which was wanted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelUse {
    /// The model that was asked for, by a call or by an agent's definition.
    #[serde(default)]
    pub requested: Option<String>,
    /// The model that is asked, as `--model` takes it.
    pub effective: String,
    /// Why they differ.
    #[serde(default)]
    pub why: Option<String>,
}

impl ModelUse {
    /// Whether the task has the session's model because nobody wanted another for it, or none other could be had.
    pub fn is_session_model(&self) -> bool {
        self.why.is_some() || self.requested.as_deref().is_none_or(|wanted| wanted == "inherit")
    }
}

/// What must hold when a task says that it is done. The runtime looks; the model's word does not count.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Expectations {
    /// Patterns of files: at least one file of each must have been changed.
    pub files: Vec<String>,
    /// A shell command that must exit with code 0.
    pub command: Option<String>,
    /// A JSON Schema that the final answer must satisfy.
    pub schema: Option<serde_json::Value>,
}

/// What a tool call left behind that a reader of the result should know without believing the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Evidence {
    /// A file of the workspace was made, changed or removed.
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

/// One run of a task from prompt or message to rest, numbered from 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Activation(pub u32);

/// One try at an activation, numbered from 1; a new owner makes a new attempt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Attempt(pub u32);

/// The right to report for a task: a report that carries any other run than the current one changes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunId {
    /// The task.
    pub task: TaskId,
    /// Which of its activations.
    pub activation: Activation,
    /// Which try at that activation.
    pub attempt: Attempt,
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} activation {} attempt {}", self.task, self.activation.0, self.attempt.0)
    }
}

/// Why a task cannot ask its model for now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ParkReason {
    /// A quota of the provider is used up.
    #[default]
    Quota,
    /// The provider refuses the key that it accepted before.
    Auth,
    /// The budget of the day is used up.
    DayBudget,
}

impl ParkReason {
    /// What a parked task waits for, in words.
    pub fn describe(self) -> &'static str {
        match self {
            ParkReason::Quota => "the provider's quota to reset",
            ParkReason::Auth => "a valid API key",
            ParkReason::DayBudget => "the budget of the next day (UTC)",
        }
    }
}

/// A task's state, in the words every view uses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum TaskState {
    /// It waits for a slot.
    Queued,
    /// It works, or waits for its children.
    Running,
    /// It rests and can be woken by a message.
    Idle,
    /// It cannot ask its model for now, and resumes by itself or when the session is opened again.
    Parked {
        /// When it resumes by itself; absent when only a person can change that.
        #[serde(default)]
        until_at: Option<Timestamp>,
        /// What it waits for.
        #[serde(default)]
        why: ParkReason,
    },
    /// Its owner died; whoever adopts the session continues it.
    Interrupted,
    /// It has ended for good.
    Finished {
        /// How.
        outcome: TaskOutcome,
    },
}

impl TaskState {
    /// Every word that a state has.
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

    /// What the state of a task comes to when the owner that wrote it is dead: an agent can go on later, a command
    /// cannot.
    pub fn without_owner(self, kind: TaskType) -> TaskState {
        match (self, kind) {
            (TaskState::Running, TaskType::Shell) => TaskState::Finished { outcome: TaskOutcome::Lost },
            (TaskState::Running | TaskState::Queued, TaskType::Main | TaskType::Agent) => TaskState::Interrupted,
            (state, TaskType::Main | TaskType::Agent | TaskType::Shell) => state,
        }
    }

    /// The state in the five words that smaller surfaces know.
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

/// The five states that every surface knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TaskStatus {
    /// It is under way, or will be.
    Running,
    /// It rests.
    Idle,
    /// It ended well.
    Completed,
    /// It ended badly.
    Failed,
    /// Somebody stopped it.
    Cancelled,
}

/// How an activation or a task ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum TaskOutcome {
    /// With a final message, every call answered and no awaited child alive.
    Completed,
    /// It could not go on.
    Failed {
        /// In which way.
        kind: FailKind,
        /// What happened, for people.
        message: String,
    },
    /// Somebody stopped it.
    Cancelled {
        /// Who.
        by: CancelBy,
    },
    /// It reached a limit.
    TimedOut {
        /// Which.
        limit: LimitKind,
    },
    /// It had spent what it may.
    BudgetExhausted,
    /// It cannot be resumed and nobody knows how it ended.
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

/// In which way a task failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum FailKind {
    /// The model or its provider.
    Model,
    /// The model ended without an answer, or was cut off.
    NoAnswer,
    /// A shell command exited with another code than 0, or could not start.
    Exit,
    /// What was expected of its result does not hold.
    Contract,
    /// It showed no sign of life for too long.
    Stalled,
    /// A hook did not let it begin.
    Denied,
    /// The runtime itself.
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
    /// What it may spend is nearly spent.
    Budget,
    /// Its time is up.
    Time,
    /// It has taken as many turns as it may, or the run has.
    Turns,
    /// Somebody asked it to stop.
    Stop,
    /// It reported on its objective, and has the last word on that.
    Reported,
    /// On autopilot it repeats itself and nothing changes.
    NoChange,
}

impl WrapUpReason {
    /// Whether the activation is complete with its last turn: it has ended by itself, and was not cut short.
    pub fn completes(self) -> bool {
        match self {
            WrapUpReason::Reported | WrapUpReason::NoChange => true,
            WrapUpReason::Budget | WrapUpReason::Time | WrapUpReason::Turns | WrapUpReason::Stop => false,
        }
    }
}

/// Who kept an activation from ending.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum StopBlocker {
    /// A hook.
    Hook,
    /// What was expected of its result does not hold.
    Expects,
}

/// How firmly a task is asked to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CancelMode {
    /// After one last turn without tools.
    WrapUp,
    /// At once.
    Abort,
}

/// Which of the awaited tasks must end before the waiter goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum WaitMode {
    /// One of them.
    Any,
    /// All of them.
    All,
    /// None: the waiting run says itself when it goes on.
    Manual,
}
