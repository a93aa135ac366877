//! Why an input was not accepted. A refused input has changed nothing.

use protocol::{AskId, CallId, TaskId, TaskType, TodoId, WrapUpReason, format_cycle};

use crate::evolve::InvalidEvent;

/// Why an input was not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InputRefusal {
    /// The session is already open.
    #[error("the session is already open")]
    AlreadyOpen,
    /// No such task.
    #[error("there is no task {0}")]
    UnknownTask(TaskId),
    /// The id is taken.
    #[error("task {0} already exists")]
    DuplicateId(TaskId),
    /// The report comes from a run that is over.
    #[error("this run of the task is over")]
    StaleRun,
    /// The session accepts no new tasks.
    #[error("the session is stopping and accepts no new tasks")]
    Closed,
    /// The task is being stopped.
    #[error("task {0} is being stopped")]
    Stopping(TaskId),
    /// The task has ended for good.
    #[error("task {0} has ended")]
    Ended(TaskId),
    /// The task cannot receive messages.
    #[error("task {task} is {} and cannot receive messages; start a new one instead", with_article(*.kind))]
    NoInbox {
        /// The task.
        task: TaskId,
        /// Its type.
        kind: TaskType,
    },
    /// The task cannot start others.
    #[error("task {task} is {} and cannot start tasks", with_article(*.kind))]
    CannotSpawn {
        /// The task.
        task: TaskId,
        /// Its type.
        kind: TaskType,
    },
    /// The tree has reached its maximum depth.
    #[error("agents cannot be nested more than {cap} deep")]
    Depth {
        /// The cap.
        cap: u32,
    },
    /// The session has reached its limit of agents.
    #[error("this session has reached its limit of {cap} agents")]
    Total {
        /// The cap.
        cap: u32,
    },
    /// No agent of this type may run.
    #[error("no agent of the type `{agent}` may run: its limit is 0")]
    NoneOfType {
        /// The type.
        agent: String,
    },
    /// A fleet is already working on the todos.
    #[error("a fleet is already working on the todos of this session")]
    FleetRunning,
    /// No fleet is working on the todos.
    #[error("no fleet is working on the todos of this session")]
    NoFleet,
    /// The todos depend on each other.
    #[error("the todos depend on each other in a cycle: {}", format_cycle(.0))]
    TodoCycle(Vec<TodoId>),
    /// No such todo.
    #[error("there is no todo `{0}`")]
    NoTodo(TodoId),
    /// Another task has claimed it.
    #[error("the todo `{todo}` is claimed by {by}")]
    TodoClaimed {
        /// The todo.
        todo: TodoId,
        /// The task.
        by: TaskId,
    },
    /// Its dependencies are not done, or it is done or blocked.
    #[error("the todo `{0}` cannot be worked on now")]
    TodoNotReady(TodoId),
    /// The limit of todos in progress is reached.
    #[error("the limit of {cap} todos in progress at once is reached")]
    ClaimLimit {
        /// The cap.
        cap: u32,
    },
    /// Only the root can propose a plan, and only in plan mode.
    #[error("a plan cannot be proposed now: the session is not in plan mode, or its plan has been approved")]
    NotPlanning,
    /// The root has no objective, or has reported on it.
    #[error("there is no objective to report on: the session is not on autopilot, or has already reported")]
    NoObjective,
    /// It is not time to tell the root to continue, or to give it a last turn.
    #[error("the root cannot be told to continue or be given a last turn now")]
    RootNotDue,
    /// Subagents start agents too fast.
    #[error(
        "the subagents of a session may together start at most {cap} agents within a minute; wait, or do the work yourself"
    )]
    Rate {
        /// The cap.
        cap: u32,
    },
    /// Only a task that the root waits for can be sent to the background.
    #[error("task {0} was not started by the session's root, so it cannot be sent to the background")]
    NotRootChild(TaskId),
    /// The end of the activation was blocked as often as allowed.
    #[error("the end of an activation may be blocked at most {cap} times")]
    StopBlockLimit {
        /// The cap.
        cap: u32,
    },
    /// Only the record of a task that has ended can be removed.
    #[error("task {0} has not ended; stop it first")]
    NotEnded(TaskId),
    /// The limit of turns is reached.
    #[error("the limit of {limit} turns is reached")]
    Turns {
        /// The limit.
        limit: u32,
    },
    /// The reservation does not fit the budget of the task or of a task above it.
    #[error("the budget of task {task} is used up")]
    Budget {
        /// Whose budget.
        task: TaskId,
    },
    /// The reservation would fit once other requests are settled.
    #[error("the budget of task {task} is reserved for requests in progress")]
    BudgetHeld {
        /// Whose budget.
        task: TaskId,
    },
    /// The objective is over: the next turn is the last.
    #[error("the objective is over, so the next turn is the last")]
    ObjectiveOver {
        /// Why it is the last.
        why: WrapUpReason,
    },
    /// The activation is in its last turn, or has taken it.
    #[error("the last turn has already been taken")]
    WrappedUp,
    /// The task lent its slot while it waited, and has not got one again yet.
    #[error("the task waits for a slot")]
    NoSlot,
    /// A turn of the run is in progress.
    #[error("a turn is in progress")]
    TurnInProgress,
    /// This turn is not in progress.
    #[error("this turn is not in progress")]
    WrongTurn,
    /// Two calls of one answer have the same id.
    #[error("two calls have the id {0}")]
    DuplicateCall(CallId),
    /// There is no such call in the turn, or it is in another phase than the input requires.
    #[error("the call {0} is not in a state that allows this")]
    WrongCallPhase(CallId),
    /// Mail arrived before the end and must be read first.
    #[error("there is unread mail")]
    MailWaiting,
    /// The run has no final message.
    #[error("there is no final message")]
    NoFinalMessage,
    /// No tool call waits for the task.
    #[error("no tool call is waiting for task {0}")]
    NotAwaited(TaskId),
    /// The wait would be a cycle.
    #[error("a task cannot wait for {0}, which is the task itself, above it, or waiting for it")]
    WaitCycle(TaskId),
    /// There is no open ask with this id.
    #[error("there is no open ask {0}: it was decided, or its call has ended")]
    NoAsk(AskId),
    /// The decision is not valid for this ask.
    #[error(
        "the ask {0} cannot be decided like this: allow a call, answer a question, approve a plan, or deny any of them"
    )]
    DecisionMismatch(AskId),
    /// The task is not an external one.
    #[error("task {0} is not done by a client and takes no reports")]
    NotExternal(TaskId),
    /// Another connection owns the external task, or none does.
    #[error("task {0} is not owned by this connection; register it again when its owner is gone")]
    ExternalTaskNotOwned(TaskId),
    /// The external task is not at the expected sequence number.
    #[error("task {task} is at sequence {sequence}")]
    ExternalTaskConflict {
        /// The task.
        task: TaskId,
        /// Its sequence number.
        sequence: u64,
    },
    /// The limit of external tasks is reached.
    #[error("the session has reached its limit of {cap} external tasks; remove those that have ended")]
    ExternalTaskLimit {
        /// The cap.
        cap: usize,
    },
    /// The decision contradicts the state: a bug in the kernel.
    #[error(transparent)]
    InvalidEvent(#[from] InvalidEvent),
}

/// The word for a task of this type, after its article.
fn with_article(kind: TaskType) -> String {
    let label = kind.label();
    // "MCP" is read letter by letter.
    let article = if label.starts_with(['a', 'e', 'i', 'o', 'u', 'M']) { "an" } else { "a" };
    format!("{article} {label}")
}
