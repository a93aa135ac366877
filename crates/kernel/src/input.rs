//! Everything that can happen to a session.

use protocol::api::{ExternalTaskUpdate, RegisterExternalTaskParams};
use protocol::{
    Activation, AgentSpec, Ask, AskDecision, AskId, CallId, CancelBy, CancelMode, Compaction, ContentBlock, Cost,
    DecidedBy, DefinitionId, Evidence, ExternalTaskId, FailKind, Fence, FleetConfig, FleetEnd, LimitKind, ListItem,
    ListName, MailBody, MailDelivery, ModelFault, ModelUse, ObjectiveReport, Principal, RetryPlan, ReusedResult, RunId,
    SessionConfig, SessionId, SessionMode, StopBlocker, StopReason, TaskId, TaskSpec, Timestamp, Todo, TodoId,
    ToolResult, Turn, TurnQuote, Usage, WaitMode, WrapUpReason,
};

use crate::Parking;

/// One thing that happened, or that somebody asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KernelInput {
    /// Begin the session with its root task, which rests until its first mail.
    Open {
        /// The root's id.
        root: TaskId,
        /// What the root is.
        spec: TaskSpec,
        /// The definition of its agent, if it is not the usual one.
        definition: Option<AgentDefinition>,
        /// How it is run.
        config: SessionConfig,
    },
    /// A process took the session over.
    Adopt {
        /// Its number.
        fence: Fence,
        /// How it runs the session.
        config: SessionConfig,
    },
    /// The session is a copy of another: nothing that was under way there goes on here.
    Fork {
        /// The other.
        from: SessionId,
    },
    /// Keep definitions that the session may need though nobody says them again.
    Define(Vec<AgentDefinition>),
    /// A task that works on nothing is told less from here on.
    Compact {
        /// The task.
        task: TaskId,
        /// What of.
        compaction: Compaction,
    },
    /// Let every interrupted task go on.
    Resume,
    /// Interrupt every running task, because the owner is about to leave.
    Suspend,
    /// Start a task.
    Spawn(TaskSpawn),
    /// Give mail to a task.
    Send(NewMail),
    /// Something a run reports about itself.
    Report(RunId, RunUpdate),
    /// Send an awaited task to the background: its result goes to the inbox.
    Promote(TaskId),
    /// Stop a task's activation and the children it waits for; a task that can rest goes on living.
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
    /// Take no new tasks and stop everything.
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
    /// A run's holder must show itself again before this moment, or the task is interrupted and queued anew.
    Lease {
        /// The run.
        run: RunId,
        /// The moment.
        until: Timestamp,
    },
    /// A run has shown no sign of life since this moment.
    Stall {
        /// The run.
        run: RunId,
        /// The moment.
        since: Timestamp,
    },
    /// So many tokens of the answer to a run have arrived. It is not durable: it only tells what the run has used if it
    /// is broken off.
    Streamed {
        /// The run.
        run: RunId,
        /// The tokens.
        output: u32,
    },
    /// A run that had stalled shows signs of life.
    Unstall(RunId),
    /// The hooks on an activation's stop have run for the last time, after it ended or before.
    StopHooksRan {
        /// The task.
        task: TaskId,
        /// Which activation.
        activation: Activation,
    },
    /// A person has no use for the record of a task that has ended.
    Forget(TaskId),
    /// How much memory the machine has left. It is not durable: whoever adopts the session looks for itself.
    Memory(MemoryPressure),
    /// Rows of the `todos` table were changed.
    Todos {
        /// By whom.
        by: Principal,
        /// The rows as they are now.
        changed: Vec<Todo>,
        /// Rows that are no longer there.
        gone: Vec<TodoId>,
        /// The last change of the file's own log of changes that this covers.
        upto: u64,
    },
    /// Begin to work through the todos.
    BeginFleet(FleetConfig),
    /// Move a todo that nobody holds.
    MoveTodo {
        /// The todo.
        todo: TodoId,
        /// Where to.
        to: TodoMove,
    },
    /// What a todo brought was merged.
    MergeTodo {
        /// The todo.
        todo: TodoId,
        /// The commit of the merge.
        commit: String,
    },
    /// Leave the todos alone; whoever works on one is stopped.
    EndFleet(FleetEnd),
    /// Go on in another mode.
    SetMode {
        /// The mode.
        mode: SessionMode,
        /// Who asks.
        by: Principal,
    },
    /// Have the root go on as another agent, from its next activation on.
    SelectAgent {
        /// What the agent is; the session's usual one when absent.
        definition: Option<AgentDefinition>,
        /// The model that performs it; the session's when absent.
        model: Option<ModelUse>,
    },
    /// Begin an external task of a client, or take it up again.
    RegisterExternalTask(RegisterExternalTaskParams),
    /// Take what a client says of its external task.
    UpdateExternalTask(ExternalTaskUpdate),
    /// A connection is gone: what it was at is nobody's.
    OrphanExternalTasks {
        /// The connection.
        owner: String,
    },
    /// Nobody has use for the record of an external task that has ended.
    ForgetExternalTask(ExternalTaskId),
    /// Go on with another model, which can be asked.
    SetModel {
        /// The model, as `--model` takes it.
        model: String,
        /// Who asks.
        by: Principal,
    },
    /// Tell the root, which is on autopilot and rests, to go on.
    ContinueAutopilot {
        /// A digest of what there is to see of its work: what does not change it is not progress.
        state: String,
        /// What it is told.
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
    /// What it is. A parent that has a child of the same name gets it with a number.
    pub spec: TaskSpec,
    /// Its first mail: the prompt, or a shell task's command.
    pub prompt: String,
    /// The run and tool call that start it, and so its parent. The call need not have started: it starts with the
    /// task, so that no crash can come between. A synchronous task's call waits for it; the call that starts an agent
    /// in the background is answered at once.
    pub by: Option<(RunId, Turn, CallId)>,
    /// When a call that waits for it gives up; never when absent.
    pub until: Option<Timestamp>,
    /// What its agent is; the session keeps it.
    pub definition: Option<AgentDefinition>,
}

/// What an agent is, under the digest of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentDefinition {
    /// The digest.
    pub id: DefinitionId,
    /// The definition.
    pub spec: Box<AgentSpec>,
}

/// Where the runtime moves a todo that nobody holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TodoMove {
    /// It was done before, and what it was done with is unchanged. It brought this; nothing is said of that when it was
    /// done in this session.
    Reuse(Option<ReusedResult>),
    /// It cannot be done, for this reason.
    Block(String),
    /// It is to be tried again.
    Reopen,
}

/// How much memory the machine has left.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MemoryPressure {
    /// Enough for more agents.
    #[default]
    Ample,
    /// So little that no agent may start while others run.
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

/// Something a run reports about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunUpdate {
    /// It stands between two turns and asks for its mail.
    Boundary(BoundaryPoint),
    /// It is about to ask its model.
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
        /// What the try is counted as.
        charge: FailedCallCharge,
        /// The next try, if there is one.
        retry: Option<RetryPlan>,
    },
    /// The answer is getting longer than was set aside for.
    RaiseReservation {
        /// Which turn.
        turn: Turn,
        /// The output that is to be set aside for.
        output: u32,
    },
    /// It waits to ask its model until requests of others are settled.
    AwaitsBudget,
    /// It takes one last turn, without tools.
    WrapUp(WrapUpReason),
    /// Its model is told less of the conversation's beginning from now on.
    Compacted(Compaction),
    /// Hooks changed what a tool call is run with; it was not judged yet.
    CallRewritten {
        /// The turn that made it.
        turn: Turn,
        /// The call.
        call: CallId,
        /// Its arguments from here on.
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
        /// What it left behind.
        evidence: Vec<Evidence>,
    },
    /// A call has told its model how an activation of another task ended, so that the mail about it need not.
    ResultRead {
        /// The task.
        task: TaskId,
        /// The activation.
        activation: Activation,
    },
    /// Its model is told of more tools.
    ToolsLoaded(Vec<String>),
    /// The time of its open calls is up, whatever they do.
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
        /// When it gives up.
        until: Option<Timestamp>,
    },
    /// A tool call waits for a person's decision: before it starts for permission, after that for an answer.
    Ask {
        /// The turn that made it.
        turn: Turn,
        /// What is asked.
        ask: Ask,
    },
    /// A tool call that waited until it is told need not wait any more.
    WaitOver {
        /// The turn that made it.
        turn: Turn,
        /// The call.
        call: CallId,
    },
    /// An item of a shared list was made or changed.
    ItemChanged {
        /// The list.
        list: ListName,
        /// The item as it is now.
        item: Box<ListItem>,
    },
    /// The root, on autopilot, says how it stands with its objective.
    Objective {
        /// The turn that made the call.
        turn: Turn,
        /// The call that says it.
        call: CallId,
        /// How it stands.
        completion: ObjectiveReport,
    },
    /// The agent says what it is doing.
    Intent(String),
    /// The agent guesses what the user may want to say next.
    PromptSuggested(String),
    /// It cannot ask its model for now.
    Park(Parking),
    /// The hooks on its activation's start have run, and said this.
    StartHooksRan(Vec<String>),
    /// It would end, and somebody keeps it from that, as often as the limits allow.
    StopBlocked {
        /// Who.
        by: StopBlocker,
        /// What it is told.
        reason: String,
    },
    /// It works in a checkout of its own, which was looked at.
    WorkCheckedOut {
        /// Where it is.
        path: String,
        /// The commit it began with.
        base: String,
    },
    /// What it made in its checkout is kept.
    WorkSealed {
        /// The commit.
        commit: String,
        /// The files in which it differs from what it began with.
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

/// What a model call that failed is counted as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailedCallCharge {
    /// Nothing: the model was never reached, or refused to work.
    Nothing,
    /// Its input, and so many tokens of its answer: those that had arrived.
    Used {
        /// The tokens.
        output: u32,
    },
}

/// Where a run stands when it asks for its mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoundaryPoint {
    /// Between two turns.
    Between,
    /// Where it would end.
    End,
}

/// How a run says it ended. Being stopped is not its to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunEnding {
    /// With an answer.
    Completed,
    /// It could not go on.
    Failed {
        /// In which way.
        kind: FailKind,
        /// What happened.
        message: String,
    },
    /// It reached a limit.
    TimedOut(LimitKind),
    /// It had spent what it may.
    BudgetExhausted,
}
