//! Inputs: everything that can happen to a session.

use protocol::{
    Activation, AgentSpec, Ask, AskDecision, AskId, CallId, CancelBy, CancelMode, Compaction, ContentBlock, Cost,
    DecidedBy, DefinitionId, Evidence, ExternalTaskProgress, ExternalTaskSpec, FailKind, Fence, FleetConfig, FleetEnd,
    FleetStopReason, LimitKind, ListItem, ListName, MailBody, MailDelivery, McpProgress, McpTaskReport, MergeSummary,
    ModelFault, ModelUse, ObjectiveReport, Principal, ReasoningEffort, RetryPlan, ReusedResult, RunId, SessionConfig,
    SessionId, SessionMode, StopBlocker, StopReason, TaskId, TaskSpec, Timestamp, Todo, TodoId, ToolDescription,
    ToolResult, Turn, TurnQuote, Usage, WaitMode, WrapUpReason,
};

use crate::Parking;

/// Something that happened, or a request.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(test, derive(strum::VariantNames, strum::IntoStaticStr))]
pub enum KernelInput {
    /// Open the session with its root task, which is idle until its first mail.
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
        /// The original session.
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
    /// Remove the end of the conversation of an idle task.
    CutConversation {
        /// The task.
        task: TaskId,
        /// The number of the last log entry that still counts.
        after: u64,
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
    /// Move an awaited task into the background: its result goes to the parent's inbox.
    Promote(TaskId),
    /// Stop a task's activation and the children it waits for. A task whose completion policy is idle becomes idle and
    /// is not finished.
    Interrupt(TaskId),
    /// Stop a task and everything below it.
    Cancel {
        /// The task.
        task: TaskId,
        /// Who asks.
        by: CancelBy,
        /// Whether the tasks may take a last turn.
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
    /// Set the lease of a run. The runtime must renew it in time; otherwise the task is interrupted and queued again.
    Lease {
        /// The run.
        run: RunId,
        /// When it expires.
        until: Timestamp,
    },
    /// A run has been silent for too long.
    Stall {
        /// The run.
        run: RunId,
        /// Since when.
        since: Timestamp,
    },
    /// The number of answer tokens that have arrived for a run. It is not durable: it is needed only for the cost of a
    /// run that is interrupted.
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
    /// Change the state of a todo that no task has claimed.
    SetTodoState {
        /// The todo.
        todo: TodoId,
        /// The change.
        to: TodoTransition,
    },
    /// The result of a todo was merged.
    MergeTodo {
        /// The todo.
        todo: TodoId,
        /// The merge commit.
        commit: String,
    },
    /// The work of the fleet's isolated workers was merged.
    MergeFleet(Box<MergeSummary>),
    /// End the fleet and stop its workers.
    EndFleet {
        /// How it ends.
        end: FleetEnd,
        /// Why it is stopped, unless the user stops it.
        why: Option<FleetStopReason>,
    },
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
    /// Give the session a title.
    SetTitle {
        /// The title.
        title: String,
    },
    /// Give an external task whose client is gone to another connection.
    ClaimExternalTask(ExternalTaskClaim),
    /// Apply a client's report on its external task.
    UpdateExternalTask(ExternalTaskUpdate),
    /// A connection is gone: its external tasks are interrupted until another one claims them.
    OrphanExternalTasks {
        /// The connection.
        owner: String,
    },
    /// Change the session's model to one that is available.
    SetModel {
        /// The model, as for `--model`.
        model: String,
        /// Its reasoning effort; unchanged when absent.
        effort: Option<ReasoningEffort>,
        /// Who asks.
        by: Principal,
    },
    /// Switch an MCP server on or off for the session.
    ToggleMcpServer {
        /// The server.
        server: String,
        /// Whether agents may use it.
        enabled: bool,
        /// Who asks.
        by: Principal,
    },
    /// Tell an idle root on autopilot to continue.
    ContinueAutopilot {
        /// A digest of the observable state of the root's work. If it has not changed, there was no progress.
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
    /// Why its todo is done again although an earlier fleet did it.
    pub redo_reason: Option<String>,
}

/// A connection's claim to an external task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalTaskClaim {
    /// The task.
    pub task: TaskId,
    /// What the new client names.
    pub spec: ExternalTaskSpec,
    /// The sequence number that the client expects the task to have.
    pub expected: Option<u64>,
}

/// A client's report on its external task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalTaskUpdate {
    /// The task.
    pub task: TaskId,
    /// The connection that reports.
    pub owner: String,
    /// The number of the report.
    pub sequence: u64,
    /// The changes.
    pub progress: Vec<ExternalTaskProgress>,
}

/// An agent definition with its digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentDefinition {
    /// The digest.
    pub id: DefinitionId,
    /// The definition.
    pub spec: Box<AgentSpec>,
}

/// How the runtime changes the state of an unclaimed todo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TodoTransition {
    /// It is done: its earlier result is reused, since its inputs are unchanged. None if that result is from this
    /// session.
    Reuse(Option<ReusedResult>),
    /// Block it for this reason.
    Block(String),
    /// Make it pending again.
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
    /// The recipient.
    pub to: TaskId,
    /// The sender.
    pub from: Principal,
    /// When it may be read.
    pub delivery: MailDelivery,
    /// The content.
    pub body: MailBody,
}

/// A report from a run about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(test, derive(strum::VariantNames, strum::IntoStaticStr))]
pub enum RunUpdate {
    /// It is between two turns and asks for its mail.
    Boundary(BoundaryPoint),
    /// It is about to call its model.
    TurnBegun {
        /// The model.
        model: String,
        /// The tokens that the turn may use.
        quote: TurnQuote,
    },
    /// The model answered.
    TurnAnswered {
        /// Which turn.
        turn: Turn,
        /// The answer.
        content: Vec<ContentBlock>,
        /// Why it stopped.
        stop: StopReason,
        /// The tokens used.
        usage: Usage,
        /// The cost of these tokens.
        cost: Cost,
        /// The model that answered.
        model: String,
    },
    /// The model did not answer.
    TurnFailed {
        /// Which turn.
        turn: Turn,
        /// The kind of failure.
        fault: ModelFault,
        /// What happened.
        message: String,
        /// What the request is charged as.
        charge: FailedCallCharge,
        /// When and how the request is retried, if it is.
        retry: Option<RetryPlan>,
    },
    /// The answer is longer than the reservation covers.
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
    /// A tool call that is running reports how far it is.
    CallProgressed {
        /// The turn that made it.
        turn: Turn,
        /// The call.
        call: CallId,
        /// The tool, with its server.
        tool: String,
        /// How far it is.
        progress: McpProgress,
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
    ToolsLoaded {
        /// Their names.
        tools: Vec<String>,
        /// How the model sees those that are not Bosun's own.
        descriptions: Vec<ToolDescription>,
    },
    /// Its time is up: its open calls are ended, and only its last turn is left.
    CallsOutOfTime {
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
    /// A tool call waits for a person: for permission before it starts, or for an answer after that. A task that asks the
    /// user itself names a call that is not open.
    Ask {
        /// The turn that made it.
        turn: Turn,
        /// What is asked.
        ask: Ask,
    },
    /// The manual wait of a tool call is over.
    ManualWaitOver {
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
    /// The server of an MCP task reported on it, or the connection to the server changed.
    McpReported(Box<McpTaskReport>),
    /// The agent reports what it is doing.
    Intent(String),
    /// The agent suggests the user's next prompt.
    PromptSuggested(String),
    /// It cannot call its model for now.
    Park(Parking),
    /// Its start hooks have run and returned this context.
    StartHooksRan(Vec<String>),
    /// A hook or an expectation blocks its end. The limits say how often.
    StopBlocked {
        /// What blocks it.
        by: StopBlocker,
        /// The message to the agent.
        reason: String,
    },
    /// The task works in its own checkout, which has been verified.
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
        /// How it ended.
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
    BetweenTurns,
    /// Where it would end.
    End,
}

/// How a run reports its end. A stop is decided by the kernel and not reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunEnding {
    /// The model gave a final answer.
    Completed,
    /// It could not continue.
    Failed {
        /// The kind of failure.
        kind: FailKind,
        /// What happened.
        message: String,
    },
    /// It reached a limit.
    TimedOut(LimitKind),
    /// Its budget was used up.
    BudgetExhausted,
    /// The server that does it cancelled it.
    CancelledByServer,
    /// How it ended is unknown, and cannot be found out.
    Lost,
}
