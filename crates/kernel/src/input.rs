//! Inputs: everything that can happen to a session.

use protocol::api::{ExternalTaskUpdate, RegisterExternalTaskParams};
use protocol::{
    Activation, AgentSpec, Ask, AskDecision, AskId, CallId, CancelBy, CancelMode, Compaction, ContentBlock, Cost,
    DecidedBy, DefinitionId, Evidence, ExternalTaskId, FailKind, Fence, FleetConfig, FleetEnd, LimitKind, ListItem,
    ListName, MailBody, MailDelivery, ModelFault, ModelUse, ObjectiveReport, Principal, RetryPlan, ReusedResult, RunId,
    SessionConfig, SessionId, SessionMode, StopBlocker, StopReason, TaskId, TaskSpec, Timestamp, Todo, TodoId,
    ToolResult, Turn, TurnQuote, Usage, WaitMode, WrapUpReason,
};

use crate::Parking;

/// Something that happened, or a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KernelInput {
    /// Open the session with its root task, which rests until its first mail.
    Open {
        /// The root's id.
        root: TaskId,
        /// The root's properties.
        spec: TaskSpec,
        /// Its agent definition, if it is not the default one.
        definition: Option<AgentDefinition>,
        /// The session's configuration.
        config: SessionConfig,
    },
    /// A process adopted the session.
    Adopt {
        /// Its fence.
        fence: Fence,
        /// Its configuration for the session.
        config: SessionConfig,
    },
    /// The session is a copy of another: nothing that was running there continues here.
    Fork {
        /// The other.
        from: SessionId,
    },
    /// Store definitions that the session may need later.
    Define(Vec<AgentDefinition>),
    /// Shorten the conversation of an idle task.
    Compact {
        /// The task.
        task: TaskId,
        /// The compaction.
        compaction: Compaction,
    },
    /// Continue every interrupted task.
    Resume,
    /// Interrupt every running task, because the owner is about to leave.
    Suspend,
    /// Start a task.
    Spawn(TaskSpawn),
    /// Send mail to a task.
    Send(NewMail),
    /// A report from a run.
    Report(RunId, RunUpdate),
    /// Send an awaited task to the background: its result goes to the inbox.
    Promote(TaskId),
    /// Stop a task's activation and the children it waits for; a task that can rest is not finished.
    Interrupt(TaskId),
    /// Stop a task and everything below it.
    Cancel {
        /// The task.
        task: TaskId,
        /// Who asks.
        by: CancelBy,
        /// How firmly.
        how: CancelMode,
    },
    /// Accept no new tasks and stop everything.
    Stop {
        /// Who asks.
        by: CancelBy,
    },
    /// Decide on an ask.
    Decide {
        /// The ask.
        ask: AskId,
        /// What is decided.
        decision: AskDecision,
        /// Who decides.
        by: DecidedBy,
    },
    /// Set the lease of a run: it must be renewed before this moment, or the task is interrupted and queued again.
    Lease {
        /// The run.
        run: RunId,
        /// The moment.
        until: Timestamp,
    },
    /// A run has been silent since this moment.
    Stall {
        /// The run.
        run: RunId,
        /// The moment.
        since: Timestamp,
    },
    /// The number of answer tokens that have arrived for a run. It is not durable: it only tells what the run has used
    /// if it is interrupted.
    Streamed {
        /// The run.
        run: RunId,
        /// The tokens.
        output: u32,
    },
    /// A stalled run is active again.
    Unstall(RunId),
    /// The stop hooks of an activation have run for the last time, before or after its end.
    StopHooksRan {
        /// The task.
        task: TaskId,
        /// Which activation.
        activation: Activation,
    },
    /// Remove the record of a task that has ended.
    Forget(TaskId),
    /// How much memory the machine has left. It is not durable: a new owner measures it again.
    Memory(MemoryPressure),
    /// Rows of the `todos` table were changed.
    TodosChanged {
        /// By whom.
        by: Principal,
        /// The rows as they are now.
        changed: Vec<Todo>,
        /// Rows that were removed.
        gone: Vec<TodoId>,
        /// The last entry of the file's change log that this covers.
        upto: u64,
    },
    /// Start a fleet.
    BeginFleet(FleetConfig),
    /// Move a todo that no task has claimed.
    SetTodoState {
        /// The todo.
        todo: TodoId,
        /// Where to.
        to: TodoTransition,
    },
    /// The result of a todo was merged.
    MergeTodo {
        /// The todo.
        todo: TodoId,
        /// The merge commit.
        commit: String,
    },
    /// End the fleet and stop its workers.
    EndFleet(FleetEnd),
    /// Change the session mode.
    SetMode {
        /// The mode.
        mode: SessionMode,
        /// Who asks.
        by: Principal,
    },
    /// Have the root use another agent definition, from its next activation on.
    SelectAgent {
        /// The definition; the default root agent when absent.
        definition: Option<AgentDefinition>,
        /// Its model; the session's when absent.
        model: Option<ModelUse>,
    },
    /// Start or reclaim an external task.
    RegisterExternalTask(RegisterExternalTaskParams),
    /// Apply a client's update of its external task.
    UpdateExternalTask(ExternalTaskUpdate),
    /// A connection is gone: its external tasks are orphaned.
    OrphanExternalTasks {
        /// The connection.
        owner: String,
    },
    /// Remove the record of an external task that has ended.
    ForgetExternalTask(ExternalTaskId),
    /// Change the session's model to one that is available.
    SetModel {
        /// The model, as for `--model`.
        model: String,
        /// Who asks.
        by: Principal,
    },
    /// Tell the root, which is on autopilot and rests, to continue.
    ContinueAutopilot {
        /// A digest of the observable state of its work: no change means no progress.
        state: String,
        /// The message to the root.
        text: String,
    },
    /// The time that the kernel asked for has come.
    Tick,
}

/// A task to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskSpawn {
    /// Its id.
    pub id: TaskId,
    /// Its properties. If the parent already has a child of this name, a number is added to the name.
    pub spec: TaskSpec,
    /// Its first mail: the prompt, or a shell task's command.
    pub prompt: String,
    /// The run and tool call that start it, and so its parent. The call need not have started: it starts together with
    /// the task, so that no crash can separate the two. The call of a synchronous task waits for it; a call that starts
    /// a background agent is answered at once.
    pub by: Option<(RunId, Turn, CallId)>,
    /// When a call that waits for it times out; never when absent.
    pub until: Option<Timestamp>,
    /// Its agent definition, which the session stores.
    pub definition: Option<AgentDefinition>,
}

/// An agent definition with its digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentDefinition {
    /// The digest.
    pub id: DefinitionId,
    /// The definition.
    pub spec: Box<AgentSpec>,
}

/// How the runtime moves an unclaimed todo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TodoTransition {
    /// Reuse its earlier result, since its inputs are unchanged; none when that result is from this session.
    Reuse(Option<ReusedResult>),
    /// Block it for this reason.
    Block(String),
    /// Try it again.
    Reopen,
}

/// How much memory the machine has left.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MemoryPressure {
    /// Enough for more agents.
    #[default]
    Ample,
    /// Too little to start an agent while others run.
    Tight,
}

/// Mail to a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMail {
    /// Who reads it.
    pub to: TaskId,
    /// Who wrote it.
    pub from: Principal,
    /// When it may be read.
    pub delivery: MailDelivery,
    /// What it says.
    pub body: MailBody,
}

/// A report from a run about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunUpdate {
    /// It is between two turns and asks for its mail.
    Boundary(BoundaryPoint),
    /// It is about to call its model.
    TurnBegun {
        /// The model.
        model: String,
        /// What it may use.
        quote: TurnQuote,
    },
    /// The model answered.
    TurnAnswered {
        /// Which turn.
        turn: Turn,
        /// What it said.
        content: Vec<ContentBlock>,
        /// Why it stopped.
        stop: StopReason,
        /// What it used.
        usage: Usage,
        /// What that cost.
        cost: Cost,
        /// The model that answered.
        model: String,
    },
    /// The model did not answer.
    TurnFailed {
        /// Which turn.
        turn: Turn,
        /// In which way.
        fault: ModelFault,
        /// What happened.
        message: String,
        /// What the try is charged as.
        charge: FailedCallCharge,
        /// The next try, if there is one.
        retry: Option<RetryPlan>,
    },
    /// The answer is getting longer than reserved for.
    RaiseReservation {
        /// Which turn.
        turn: Turn,
        /// The output tokens to reserve for.
        output: u32,
    },
    /// It waits to call its model until other requests are settled.
    AwaitsBudget,
    /// It takes one last turn, without tools.
    WrapUp(WrapUpReason),
    /// Its conversation was compacted.
    Compacted(Compaction),
    /// Hooks changed a tool call's arguments before its permission check.
    CallRewritten {
        /// The turn that made it.
        turn: Turn,
        /// The call.
        call: CallId,
        /// The new arguments.
        input: String,
    },
    /// A tool call is about to run.
    CallStarted {
        /// The turn that made it.
        turn: Turn,
        /// The call.
        call: CallId,
    },
    /// A tool call has its answer.
    CallAnswered {
        /// The turn that made it.
        turn: Turn,
        /// The call.
        call: CallId,
        /// The answer.
        answer: ToolResult,
        /// What the runtime observed.
        evidence: Vec<Evidence>,
    },
    /// A call returned the result of another task's activation, so the mail about it is no longer needed.
    ResultRead {
        /// The task.
        task: TaskId,
        /// The activation.
        activation: Activation,
    },
    /// More tools are available to its model.
    ToolsLoaded(Vec<String>),
    /// Its open calls are out of time.
    CallsDropped {
        /// The turn that made them.
        turn: Turn,
    },
    /// A tool call waits for other tasks.
    Wait {
        /// The turn that made it.
        turn: Turn,
        /// The call.
        call: CallId,
        /// The tasks.
        on: Vec<TaskId>,
        /// Which of them must end.
        mode: WaitMode,
        /// When it times out.
        until: Option<Timestamp>,
    },
    /// A tool call waits for a person: for permission before it starts, or for an answer after that.
    Ask {
        /// The turn that made it.
        turn: Turn,
        /// What is asked.
        ask: Ask,
    },
    /// The manual wait of a tool call is over.
    WaitOver {
        /// The turn that made it.
        turn: Turn,
        /// The call.
        call: CallId,
    },
    /// An item of a shared list was added or changed.
    ItemChanged {
        /// The list.
        list: ListName,
        /// The item as it is now.
        item: Box<ListItem>,
    },
    /// The root reports on its autopilot objective.
    Objective {
        /// The turn that made the call.
        turn: Turn,
        /// The call that reports it.
        call: CallId,
        /// The report.
        completion: ObjectiveReport,
    },
    /// The agent reports what it is doing.
    Intent(String),
    /// The agent suggests the user's next prompt.
    PromptSuggested(String),
    /// It cannot call its model for now.
    Park(Parking),
    /// Its start hooks have run and returned this context.
    StartHooksRan(Vec<String>),
    /// Its end is blocked, as often as the limits allow.
    StopBlocked {
        /// Who.
        by: StopBlocker,
        /// The message to the agent.
        reason: String,
    },
    /// It works in its own checkout, which has been verified.
    WorkCheckedOut {
        /// Where it is.
        path: String,
        /// The commit it started from.
        base: String,
    },
    /// Its changes in its checkout were stored as a commit.
    WorkSealed {
        /// The commit.
        commit: String,
        /// The changed files.
        files: Vec<String>,
    },
    /// The activation is over.
    Ended {
        /// How.
        ending: RunEnding,
        /// The final or partial text.
        text: String,
    },
}

/// What a failed model call is charged as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailedCallCharge {
    /// Nothing: the model was never reached, or refused to work.
    Nothing,
    /// Its input, and the answer tokens that had arrived.
    Used {
        /// The tokens.
        output: u32,
    },
}

/// Where a run is when it asks for its mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoundaryPoint {
    /// Between two turns.
    Between,
    /// Where it would end.
    End,
}

/// How a run reports its end. A stop is decided by the kernel and not reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunEnding {
    /// With an answer.
    Completed,
    /// It could not continue.
    Failed {
        /// In which way.
        kind: FailKind,
        /// What happened.
        message: String,
    },
    /// It reached a limit.
    TimedOut(LimitKind),
    /// Its budget was used up.
    BudgetExhausted,
}
