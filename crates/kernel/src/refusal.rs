//! Why an input was not accepted. A refused input has changed nothing.

use protocol::{AskId, CallId, ExternalTaskId, TaskId, TodoId, WrapUpReason, format_cycle};

use crate::evolve::InvalidEvent;

/// Why an input was not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InputRefusal {
    /// The session is open already.
    #[error("the session is open already")]
    AlreadyOpen,
    /// No such task.
    #[error("there is no task {0}")]
    UnknownTask(TaskId),
    /// The id is taken.
    #[error("task {0} exists already")]
    TakenId(TaskId),
    /// The report comes from a run that is over.
    #[error("this run of the task is over")]
    Stale,
    /// The session takes no new tasks.
    #[error("the session is stopping and takes no new tasks")]
    Closed,
    /// The task is being stopped.
    #[error("task {0} is being stopped")]
    Stopping(TaskId),
    /// The task has ended for good.
    #[error("task {0} has ended")]
    Ended(TaskId),
    /// The task reads no mail.
    #[error("task {0} is a command and takes no messages")]
    NoInbox(TaskId),
    /// The task starts no others.
    #[error("task {0} is a command and starts no tasks")]
    NoParent(TaskId),
    /// The tree is as deep as it may be.
    #[error("agents may be nested {cap} deep and no deeper")]
    Depth {
        /// The cap.
        cap: u32,
    },
    /// The session has started as many agents as it may.
    #[error("this session has started {cap} agents, which is all it may")]
    Total {
        /// The cap.
        cap: u32,
    },
    /// The limits let no agent of this type run.
    #[error("no agent of the type `{agent}` may run: its limit is 0")]
    NoneOfType {
        /// The type.
        agent: String,
    },
    /// A fleet works through the todos already.
    #[error("a fleet is at work on the todos of this session already")]
    FleetAtWork,
    /// No fleet does.
    #[error("no fleet is at work on the todos of this session")]
    NoFleet,
    /// The todos wait for each other.
    #[error("the todos depend on each other in a circle: {}", format_cycle(.0))]
    TodoCycle(Vec<TodoId>),
    /// No such todo.
    #[error("there is no todo `{0}`")]
    NoTodo(TodoId),
    /// Another task works on it.
    #[error("the todo `{todo}` is held by {by}")]
    TodoHeld {
        /// The todo.
        todo: TodoId,
        /// The task.
        by: TaskId,
    },
    /// What it depends on is not done, or it is done or blocked.
    #[error("the todo `{0}` cannot be worked on now")]
    TodoNotReady(TodoId),
    /// As many todos are worked on as may be.
    #[error("{cap} todos are worked on at once, which is all there may be")]
    TodosHeld {
        /// The cap.
        cap: u32,
    },
    /// Only the root plans, and only in plan mode.
    #[error("there is no plan to leave: the session is not in plan mode, or its plan is decided on")]
    NoPlan,
    /// The root has no objective, or has reported on it.
    #[error("there is no objective to report on: the session is not on autopilot, or it was reported already")]
    NoObjective,
    /// The root has no objective, or somebody works on it.
    #[error("the root is not to be told to go on, or to come to its end")]
    NotDue,
    /// Agents start others too fast.
    #[error("agents have started {cap} others within a minute, which is all they may; wait, or do the work yourself")]
    Rate {
        /// The cap.
        cap: u32,
    },
    /// Only what the root waits for can go on in the background.
    #[error("task {0} was not started by the session's root, so it cannot go on in the background")]
    NotRootChild(TaskId),
    /// It was kept from ending as often as it may be.
    #[error("it was kept from ending {cap} times, which is all it may be")]
    StopBlockLimit {
        /// The cap.
        cap: u32,
    },
    /// Only what has ended can be forgotten.
    #[error("task {0} has not ended; stop it first")]
    NotEnded(TaskId),
    /// The activation has taken as many turns as it may.
    #[error("the limit of {limit} turns is reached")]
    Turns {
        /// The limit.
        limit: u32,
    },
    /// The reservation does not fit the budget of the task or of one above it.
    #[error("the budget of task {task} is used up")]
    Budget {
        /// Whose budget.
        task: TaskId,
    },
    /// The reservation would fit if other questions under way were answered.
    #[error("the budget of task {task} is set aside for questions under way")]
    BudgetHeld {
        /// Whose budget.
        task: TaskId,
    },
    /// The objective is over: the next turn is the last.
    #[error("the objective is over, so the next turn is the last")]
    Closing {
        /// Why it is.
        why: WrapUpReason,
    },
    /// The activation takes its last turn already, or has taken it.
    #[error("the last turn is taken")]
    WrappedUp,
    /// The task lent its slot and has none yet.
    #[error("the task waits for a slot")]
    NoSlot,
    /// The run is in the middle of a turn.
    #[error("a turn is under way")]
    InTurn,
    /// No turn is under way.
    #[error("no such turn is under way")]
    NoTurn,
    /// Two calls of one answer have the same id.
    #[error("two calls have the id {0}")]
    SameCall(CallId),
    /// The call is not open, or not in the state that this needs.
    #[error("the call {0} is not open for this")]
    Call(CallId),
    /// Mail came in before the end; it must be read first.
    #[error("there is unread mail")]
    MailWaiting,
    /// The run has no final message.
    #[error("there is no final message")]
    NoAnswer,
    /// Nobody waits for the task.
    #[error("nobody waits for task {0}")]
    NotAwaited(TaskId),
    /// A task may not wait for itself or for one that is above it.
    #[error("a task cannot wait for {0}: it is itself, or above it")]
    WaitCycle(TaskId),
    /// Nothing of this name waits for a decision.
    #[error("nothing called {0} waits for a decision: it was decided, or its call has ended")]
    NoAsk(AskId),
    /// The decision is none on such a thing.
    #[error("{0} cannot be decided like this: a call is allowed or denied, a question answered or denied")]
    DecisionMismatch(AskId),
    /// No such external task.
    #[error("there is no external task `{0}`; register it first")]
    NoExternalTask(ExternalTaskId),
    /// Another connection is at it, or none is.
    #[error("the external task `{0}` is not this connection's; register it again when its owner is gone")]
    ExternalTaskNotOwned(ExternalTaskId),
    /// It has ended.
    #[error("the external task `{0}` has ended")]
    ExternalTaskEnded(ExternalTaskId),
    /// It has not ended.
    #[error("the external task `{0}` has not ended")]
    ExternalTaskNotEnded(ExternalTaskId),
    /// It stands elsewhere than its client thinks.
    #[error("the external task `{id}` stands at {sequence}")]
    ExternalTaskConflict {
        /// The external task.
        id: ExternalTaskId,
        /// Its number.
        sequence: u64,
    },
    /// There are as many as there may be.
    #[error("the session keeps {cap} external tasks, which is all it may; remove those that have ended")]
    ExternalTaskLimit {
        /// The cap.
        cap: usize,
    },
    /// The decision contradicts the state: a defect of the kernel.
    #[error(transparent)]
    InvalidEvent(#[from] InvalidEvent),
}
