//! The session log: everything durable that happens, in order.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::ser::Error as _;
use serde::{Deserialize, Serialize};

use crate::{
    Activation, AgentSpec, Ask, AskDecision, AskId, Attempt, AutopilotStop, BlockReason, Budget, CallId, CancelBy,
    CancelMode, ContentBlock, Cost, DecidedBy, DefinitionId, Evidence, ExternalReport, Fence, FleetConfig, FleetEnd,
    FleetStopReason, ListItem, ListName, MailBody, MailDelivery, MailId, McpProgress, McpTaskReport, MergeSummary,
    ModelUse, ParkReason, PermissionMode, Price, Principal, QuotedTokens, ReasoningEffort, ReusedResult, RuleText,
    SessionId, SessionMode, StopBlocker, StopReason, TaskId, TaskOutcome, TaskSpec, Timestamp, Todo, TodoId,
    ToolDescription, ToolResult, Turn, Usage, WaitMode, WrapUpReason,
};

/// An event with its task and time, as the kernel decides it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEntry {
    /// The task it is about; the root for events about the session.
    pub task: TaskId,
    /// When it was decided.
    pub at: Timestamp,
    /// What happened.
    pub event: Event,
}

/// An event as every reader gets it: `{v, seq, session, task, at, type, …}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    /// The version of the event format.
    pub v: u32,
    /// Its position in the session's log, from 1, without gaps.
    pub seq: u64,
    /// The session.
    pub session: SessionId,
    /// The task, time and event.
    pub entry: LogEntry,
}

impl Envelope {
    /// The current version of the event format.
    pub const VERSION: u32 = 1;

    // Not generic, so that the code for every event is compiled once and not in each crate that writes JSON.
    fn to_fields(&self) -> serde_json::Result<serde_json::Map<String, serde_json::Value>> {
        let serde_json::Value::Object(event) = serde_json::to_value(&self.entry.event)? else {
            return Err(serde_json::Error::custom("an event is not an object"));
        };
        let mut fields = serde_json::Map::new();
        fields.insert("v".into(), self.v.into());
        fields.insert("seq".into(), self.seq.into());
        fields.insert("session".into(), self.session.to_string().into());
        fields.insert("task".into(), self.entry.task.to_string().into());
        fields.insert("at".into(), self.entry.at.0.into());
        fields.extend(event);
        Ok(fields)
    }

    fn from_fields(fields: serde_json::Value) -> serde_json::Result<Envelope> {
        #[derive(Deserialize)]
        struct EnvelopeHeader {
            v: u32,
            seq: u64,
            session: SessionId,
            task: TaskId,
            at: Timestamp,
        }
        let header = EnvelopeHeader::deserialize(&fields)?;
        let entry = LogEntry { task: header.task, at: header.at, event: Event::deserialize(fields)? };
        Ok(Envelope { v: header.v, seq: header.seq, session: header.session, entry })
    }
}

impl Serialize for Envelope {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_fields().map_err(S::Error::custom)?.serialize(serializer)
    }
}

impl JsonSchema for Envelope {
    fn schema_name() -> Cow<'static, str> {
        "Envelope".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "An event as every reader gets it.",
            "type": "object",
            "properties": {
                "v": { "type": "integer", "description": "The version of the event format." },
                "seq": { "type": "integer", "description": "Its position in the session's log, from 1, without gaps." },
                "session": generator.subschema_for::<SessionId>(),
                "task": generator.subschema_for::<TaskId>(),
                "at": generator.subschema_for::<Timestamp>(),
            },
            "required": ["v", "seq", "session", "task", "at", "type"],
            "allOf": [generator.subschema_for::<Event>()],
        })
    }
}

impl<'de> Deserialize<'de> for Envelope {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let fields = serde_json::Value::deserialize(deserializer)?;
        Envelope::from_fields(fields).map_err(serde::de::Error::custom)
    }
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Event {
    /// The session began.
    SessionOpened(SessionConfig),
    /// A process adopted the session; everything that ran under an older fence is interrupted.
    SessionAdopted {
        /// The new owner's fence.
        fence: Fence,
        /// Its configuration for the session.
        config: SessionConfig,
    },
    /// The session began as a copy of another.
    SessionForked {
        /// The original session.
        from: SessionId,
    },
    /// The session accepts no new tasks until it is adopted or prompted again.
    AdmissionClosed,
    /// The session accepts new tasks again.
    AdmissionOpened,

    /// The session uses this agent definition for the first time.
    AgentDefined {
        /// Its digest.
        id: DefinitionId,
        /// The definition.
        spec: Box<AgentSpec>,
    },

    /// The session has a title that a model chose.
    SessionTitled {
        /// The title.
        title: String,
    },

    /// The task uses another agent definition from its next activation on.
    AgentSelected {
        /// The agent's name.
        agent: String,
        /// Its definition; none for the default root agent.
        #[serde(default)]
        definition: Option<DefinitionId>,
        /// The model that performs it; the session's when absent.
        #[serde(default)]
        model: Option<ModelUse>,
    },

    /// A client reported on the external task or claimed it, or its client is gone.
    ExternalTaskReported {
        /// What is known of it now.
        report: Box<ExternalReport>,
    },
    /// The server of an MCP task reported on it, or the connection to the server changed.
    McpTaskReported {
        /// What is known of it now.
        report: Box<McpTaskReport>,
    },

    /// A task was created; it is queued.
    TaskCreated(Box<TaskSpec>),
    /// The task's result goes to its parent's inbox instead of to a waiting call.
    TaskPromoted,
    /// The task cannot call its model for now.
    TaskParked {
        /// When it resumes automatically; absent when a person must act first.
        #[serde(default)]
        until_at: Option<Timestamp>,
        /// What it waits for.
        #[serde(default)]
        why: ParkReason,
    },
    /// The task's owner died, or its lease ended.
    TaskInterrupted,
    /// An idle task was woken, or an interrupted or parked one is queued to continue.
    TaskRequeued,
    /// A task that lent its slot while it waited has one again.
    SlotRegained,
    /// The task was asked to stop.
    CancelRequested {
        /// Who asked.
        by: CancelBy,
        /// Whether the task may take a last turn.
        how: CancelMode,
        /// When a task that may still take a last turn is stopped at once.
        #[serde(default)]
        until_at: Option<Timestamp>,
    },
    /// The running task has been silent for too long.
    TaskStalled {
        /// Since when.
        since_at: Timestamp,
    },
    /// The task is active again.
    TaskUnstalled,
    /// The user removed the record of the ended task; views leave it out.
    TaskForgotten,
    /// The task ended for good.
    TaskFinished {
        /// How it ended.
        outcome: TaskOutcome,
    },

    /// An activation, or a new attempt at it, began to run.
    ActivationStarted {
        /// Which activation.
        activation: Activation,
        /// Which attempt.
        attempt: Attempt,
    },
    /// The start hooks of an activation have run. Their output comes before its first turn.
    StartHooksRan {
        /// Which activation.
        activation: Activation,
        /// The context that they returned.
        context: Vec<String>,
    },
    /// The stop hooks of an activation have run for the last time.
    StopHooksRan {
        /// Which activation.
        activation: Activation,
    },
    /// The activation would have ended, but was told to continue.
    StopBlocked {
        /// What blocked the end.
        by: StopBlocker,
        /// The message to the agent.
        reason: String,
    },
    /// An activation ended; its result is delivered.
    ActivationEnded {
        /// Which activation.
        activation: Activation,
        /// How it ended.
        outcome: TaskOutcome,
        /// The final or partial text.
        text: String,
    },

    /// Mail was accepted for the task.
    MailAdmitted {
        /// The mail.
        mail: MailId,
        /// The sender.
        from: Principal,
        /// When it may be read.
        delivery: MailDelivery,
        /// The content.
        body: MailBody,
    },
    /// Mail joined the task's conversation, in this order.
    MailDelivered {
        /// The pieces of mail.
        mail: Vec<MailId>,
    },
    /// Mail will never be read, because its reader has ended.
    MailExpired {
        /// The mail.
        mail: MailId,
    },

    /// A model request was started.
    TurnBegun {
        /// Which turn.
        turn: Turn,
        /// The model.
        model: String,
        /// The budget reserved for it.
        reserved: Cost,
        /// The price of its tokens, if known.
        #[serde(default)]
        price: Option<Price>,
        /// Maximum tokens of the answer.
        #[serde(default)]
        max_output: Option<u32>,
        /// The tokens that the reservation covers.
        #[serde(default)]
        quoted: QuotedTokens,
    },
    /// The answer is longer than the reservation covers, so the reservation was raised.
    TurnReservationRaised {
        /// Which turn.
        turn: Turn,
        /// The new reservation.
        reserved: Cost,
        /// The output tokens that it covers.
        output: u32,
    },
    /// The task waits to call its model: the rest of a budget is reserved for other requests.
    BudgetAwaited,
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
        /// The model that answered, as its provider named it.
        model: String,
    },
    /// The model did not answer.
    TurnFailed {
        /// Which turn.
        turn: Turn,
        /// The kind of failure.
        fault: ModelFault,
        /// What happened, for people.
        message: String,
        /// The cost charged for the request.
        cost: Cost,
        /// When and how the request is retried, if it is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry: Option<RetryPlan>,
    },

    /// Hooks changed a call's arguments before its permission check.
    CallRewritten {
        /// The call.
        call: CallId,
        /// The new arguments.
        input: String,
    },

    /// A different model answered than the one requested.
    ModelDiffered {
        /// Which turn.
        turn: Turn,
        /// The requested model.
        asked: String,
        /// The model that answered, as its provider named it.
        answered: String,
    },
    /// The task has spent most of its budget.
    BudgetLow {
        /// What was spent.
        spent: Cost,
        /// The budget.
        budget: Budget,
    },
    /// The activation has one last turn, without tools.
    WrapUpBegan {
        /// Why.
        why: WrapUpReason,
    },
    /// The model no longer gets the full beginning of the conversation; the log still has it.
    Compacted(Compaction),
    /// The model no longer gets what came after an earlier entry of the log; the log still has it.
    ConversationCut {
        /// The number of the last entry that still counts.
        after: u64,
    },

    /// A tool call is about to run.
    CallStarted {
        /// The call.
        call: CallId,
    },
    /// A tool call that is running reported how far it is.
    CallProgressed {
        /// The call.
        call: CallId,
        /// The tool, with its server.
        tool: String,
        /// How far it is.
        progress: McpProgress,
    },
    /// A tool call was answered.
    CallAnswered {
        /// The call.
        call: CallId,
        /// The answer.
        answer: ToolResult,
        /// What the runtime observed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        evidence: Vec<Evidence>,
    },
    /// More tools are available to the task's model from now on.
    ToolsLoaded {
        /// Their names.
        tools: Vec<String>,
        /// How the model sees those that are not Bosun's own, which may change at any time.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        descriptions: Vec<ToolDescription>,
    },

    /// A tool call of the task waits for other tasks; the task's slot is free meanwhile.
    WaitBegan {
        /// The tool call that waits.
        call: CallId,
        /// The awaited tasks.
        on: Vec<TaskId>,
        /// Which of them must end.
        mode: WaitMode,
        /// When the wait times out.
        until_at: Option<Timestamp>,
    },
    /// A tool call's wait is over.
    WaitEnded {
        /// The tool call that waited.
        call: CallId,
        /// Why.
        why: WaitEnd,
    },

    /// A tool call waits for a person's decision; the task's slot is free meanwhile.
    AskOpened(Ask),
    /// An ask was decided.
    AskDecided {
        /// The ask.
        ask: AskId,
        /// The call that waited.
        call: CallId,
        /// What was decided.
        decision: AskDecision,
        /// Who decided it.
        by: DecidedBy,
    },

    /// Rows of the `todos` table were added, changed or removed.
    TodosChanged {
        /// Who changed them.
        by: Principal,
        /// The rows as they are now.
        changed: Vec<Todo>,
        /// Rows that were removed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        gone: Vec<TodoId>,
        /// The last entry of the file's change log that this covers.
        #[serde(default)]
        upto: u64,
    },
    /// A fleet started to work through the todos.
    FleetBegan(FleetConfig),
    /// The task claimed this todo.
    TodoClaimed {
        /// The todo.
        todo: TodoId,
        /// The number of the claim; results of an older claim are refused.
        fence: u64,
        /// Why it is done again although an earlier fleet did it; none if none did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        redo_reason: Option<String>,
    },
    /// The worker ended without a result, and the todo is pending again.
    TodoReturned {
        /// The todo.
        todo: TodoId,
        /// The number of the claim.
        fence: u64,
        /// What went wrong; none when the work was only interrupted.
        failure: Option<String>,
    },
    /// The todo is done, and its expectations hold.
    TodoDone {
        /// The todo.
        todo: TodoId,
        /// The number of the claim; none if an earlier result is reused.
        #[serde(default)]
        fence: Option<u64>,
        /// The earlier result that is reused; none if it is from this session.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reused: Option<ReusedResult>,
    },
    /// The todo is blocked.
    TodoBlocked {
        /// The todo.
        todo: TodoId,
        /// Why.
        why: BlockReason,
    },
    /// The todo is no longer blocked.
    TodoUnblocked {
        /// The todo.
        todo: TodoId,
    },
    /// The fleet ended.
    FleetEnded {
        /// How it ended.
        end: FleetEnd,
        /// Why it was stopped, unless the user stopped it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<FleetStopReason>,
    },
    /// The work of a fleet's isolated workers was merged.
    FleetMerged(Box<MergeSummary>),

    /// The task works in its own checkout, which has been verified.
    WorkCheckedOut {
        /// Where it is.
        path: String,
        /// The commit it started from.
        base: String,
    },
    /// The task's changes in its checkout were stored as a commit.
    WorkSealed {
        /// The commit; the one it started from when nothing was changed.
        commit: String,
        /// The changed files, up to a maximum number.
        #[serde(default)]
        files: Vec<String>,
    },
    /// The result of a todo was merged.
    WorkMerged {
        /// The todo.
        todo: TodoId,
        /// The merge commit.
        commit: String,
    },

    /// The task added or changed an item of a shared list; the list already holds the change.
    ItemChanged {
        /// The list.
        list: ListName,
        /// The item as it is now.
        item: Box<ListItem>,
    },
    /// The session mode changed.
    ModeChanged {
        /// The mode.
        mode: SessionMode,
        /// Who changed it.
        by: Principal,
    },
    /// The session's model changed: for the root, and for every agent that does not name another.
    ModelChanged {
        /// The model, as for `--model`.
        model: String,
        /// The model's reasoning effort; unchanged when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        effort: Option<ReasoningEffort>,
        /// Who changed it.
        by: Principal,
    },
    /// An MCP server was switched on or off for the session.
    McpServerToggled {
        /// The server.
        server: String,
        /// Whether agents may use it.
        enabled: bool,
        /// Who switched it.
        by: Principal,
    },
    /// Results for an idle task are held back until more results arrive, so that the task reads them together.
    WakeDelayed {
        /// When the task is woken, at the latest.
        until_at: Timestamp,
    },
    /// The root, on autopilot, was told to continue.
    AutopilotContinued {
        /// How often it was told so for this objective.
        count: u32,
        /// A digest of the observable state of its work.
        state: String,
    },
    /// Autopilot stopped: the root is not told to continue any more.
    AutopilotStopped {
        /// Why.
        why: AutopilotStop,
        /// How often it was told to continue.
        continues: u32,
    },

    /// The root's model suggested the user's next prompt.
    PromptSuggested {
        /// The suggestion.
        text: String,
    },
    /// The agent reported what it is doing.
    IntentReported {
        /// The report.
        intent: String,
    },

    /// An event that a newer version wrote.
    #[serde(other)]
    Unknown,
}

impl Event {
    /// The event as JSON text. Not generic, so that this code is compiled once.
    pub fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string(self)
    }

    /// Reads an event from JSON text. Not generic, so that this code is compiled once.
    pub fn from_json(text: &str) -> serde_json::Result<Event> {
        serde_json::from_str(text)
    }
}

/// A change that shortens the part of a conversation that is sent to the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Compaction {
    /// How many messages from the conversation's beginning are shortened.
    pub messages: u32,
    /// The digest that replaces all of them; without it only their tool output is left out.
    #[serde(default)]
    pub digest: Option<String>,
    /// Why.
    #[serde(default)]
    pub cause: CompactionCause,
}

/// Why a conversation was compacted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CompactionCause {
    /// Its context window is nearly full.
    #[default]
    ContextFull,
    /// The user asked for it.
    Requested,
}

impl CompactionCause {
    /// Its name in hook events.
    pub fn trigger(self) -> &'static str {
        match self {
            CompactionCause::ContextFull => "auto",
            CompactionCause::Requested => "manual",
        }
    }
}

/// The configuration of a session. A process that resumes the session keeps every value it does not override.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionConfig {
    /// The folder it works in.
    pub cwd: String,
    /// The model, as for `--model`.
    pub model: String,
    /// The permission mode: what happens to tool calls that no rule matches.
    pub permission: PermissionMode,
    /// The permission rules from its command line, oldest first.
    #[serde(default)]
    pub rules: Vec<RuleText>,
    /// Additional folders that file tools may use.
    #[serde(default)]
    pub roots: Vec<String>,
    /// Whether the model may ask the user questions.
    #[serde(default = "yes")]
    pub ask_user: bool,
    /// Maximum turns that the root and everything below it may take for one user prompt.
    #[serde(default)]
    pub max_turns: Option<u32>,
    /// Maximum turns of one activation of the root, from its definition.
    #[serde(default)]
    pub root_turns: Option<u32>,
    /// How many agents there may be.
    #[serde(default)]
    pub limits: AgentLimits,
    /// What the root and everything below it may spend.
    #[serde(default)]
    pub budget: Budget,
    /// How hard the model should think; the provider's default when absent.
    #[serde(default)]
    pub effort: Option<ReasoningEffort>,
    /// The list that its agents share.
    #[serde(default)]
    pub list: ListName,
    /// The version of Bosun that runs it.
    pub version: String,
}

/// How many agents a session may have. The limits stay when another process resumes the session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentLimits {
    /// Agents that may run at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live: Option<u32>,
    /// How many levels of agents there may be below the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// Agents that may be started in total.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<u32>,
    /// Agents that all subagents together may start per minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<u32>,
    /// How often the root is told to continue for one objective on autopilot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continues: Option<u32>,
}

fn yes() -> bool {
    true
}

/// How a model call failed; this decides what happens next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ModelFault {
    /// A retry may succeed.
    Transient,
    /// No connection was made: the server or the network is down.
    Unreachable,
    /// The server is reachable but cannot serve requests for now.
    Overloaded,
    /// A retry may succeed after a while.
    RetryAfter {
        /// How long, in milliseconds; 0 when the provider did not say.
        millis: u64,
    },
    /// A quota is used up until a known time.
    QuotaUntil {
        /// When it resets.
        until_at: Timestamp,
    },
    /// The key is wrong or was revoked.
    Auth,
    /// The conversation is longer than the model accepts.
    TooLong,
    /// A retry will not help.
    Terminal,
    /// It was cancelled.
    Cancelled,
    /// Its owner died during the call.
    Interrupted,
}

/// The next attempt after a failed model request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RetryPlan {
    /// The number of that attempt, from 2.
    pub attempt: u32,
    /// The maximum number of attempts.
    pub of: u32,
    /// How long until the attempt, in milliseconds.
    pub in_millis: u64,
}

/// Why a wait is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum WaitEnd {
    /// The awaited tasks ended.
    Satisfied,
    /// Its time was up.
    TimedOut,
    /// An awaited task was moved into the background.
    Promoted,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn envelope(event: Event) -> Envelope {
        let entry = LogEntry { task: TaskId::new(uuid::Uuid::nil()), at: Timestamp(7), event };
        Envelope { v: 1, seq: 3, session: SessionId::new(uuid::Uuid::nil()), entry }
    }

    #[test]
    fn an_envelope_is_flat_and_round_trips() {
        let sent = envelope(Event::TaskParked { until_at: Some(Timestamp(9)), why: ParkReason::Quota });
        let json = serde_json::to_value(&sent).unwrap();
        assert_eq!(json["type"], "taskParked");
        assert_eq!(json["untilAt"], 9);
        assert_eq!(json["seq"], 3);
        assert_eq!(serde_json::from_value::<Envelope>(json).unwrap(), sent);
    }

    #[test]
    fn an_event_of_a_newer_version_is_unknown_but_not_an_error() {
        let mut json = serde_json::to_value(envelope(Event::AdmissionClosed)).unwrap();
        json["type"] = "holographic".into();
        assert_eq!(serde_json::from_value::<Envelope>(json).unwrap().entry.event, Event::Unknown);
    }
}
