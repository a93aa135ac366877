//! The session log: everything durable that happens, in order.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::ser::Error as _;
use serde::{Deserialize, Serialize};

use crate::{
    Activation, AgentSpec, Ask, AskDecision, AskId, Attempt, AutopilotStop, BlockReason, Budget, CallId, CancelBy,
    CancelMode, ContentBlock, Cost, DecidedBy, DefinitionId, Evidence, ExternalTask, ExternalTaskId, Fence,
    FleetConfig, FleetEnd, ListItem, ListName, MailBody, MailDelivery, MailId, ModelUse, ParkReason, PermissionMode,
    Price, Principal, QuotedTokens, ReasoningEffort, ReusedResult, RuleText, SessionId, SessionMode, StopBlocker,
    StopReason, TaskId, TaskOutcome, TaskSpec, Timestamp, Todo, TodoId, ToolResult, Turn, Usage, WaitMode,
    WrapUpReason,
};

/// An event as the kernel decides it: which task it is about, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEntry {
    /// The task it is about; the root for what concerns the session.
    pub task: TaskId,
    /// When it was decided.
    pub at: Timestamp,
    /// What happened.
    pub event: Event,
}

/// An event as every reader gets it: `{v, seq, session, task, at, type, …}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    /// The version of the event's own form.
    pub v: u32,
    /// Its place in the session's log, from 1, without gaps.
    pub seq: u64,
    /// The session.
    pub session: SessionId,
    /// The task, moment and event.
    pub entry: LogEntry,
}

impl Envelope {
    /// The form that events are written in today.
    pub const VERSION: u32 = 1;
}

impl Serialize for Envelope {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let serde_json::Value::Object(event) = serde_json::to_value(&self.entry.event).map_err(S::Error::custom)?
        else {
            return Err(S::Error::custom("an event is not an object"));
        };
        let mut fields = serde_json::Map::new();
        fields.insert("v".into(), self.v.into());
        fields.insert("seq".into(), self.seq.into());
        fields.insert("session".into(), self.session.to_string().into());
        fields.insert("task".into(), self.entry.task.to_string().into());
        fields.insert("at".into(), self.entry.at.0.into());
        fields.extend(event);
        fields.serialize(to)
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
                "v": { "type": "integer", "description": "The version of the event's own form." },
                "seq": { "type": "integer", "description": "Its place in the session's log, from 1, without gaps." },
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
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct EnvelopeHeader {
            v: u32,
            seq: u64,
            session: SessionId,
            task: TaskId,
            at: Timestamp,
        }
        let fields = serde_json::Value::deserialize(from)?;
        let head = EnvelopeHeader::deserialize(&fields).map_err(serde::de::Error::custom)?;
        let event = Event::deserialize(fields).map_err(serde::de::Error::custom)?;
        let entry = LogEntry { task: head.task, at: head.at, event };
        Ok(Envelope { v: head.v, seq: head.seq, session: head.session, entry })
    }
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Event {
    /// The session began.
    SessionOpened(SessionConfig),
    /// A process took the session over; everything that ran under an older fence is interrupted.
    SessionAdopted {
        /// The new owner's number.
        fence: Fence,
        /// How it runs the session.
        config: SessionConfig,
    },
    /// The session began as a copy of another.
    SessionForked {
        /// The other.
        from: SessionId,
    },
    /// The session takes no new tasks until it is adopted or prompted again.
    AdmissionClosed,
    /// The session takes new tasks again.
    AdmissionOpened,

    /// An agent of this definition is used for the first time.
    AgentDefined {
        /// Its digest.
        id: DefinitionId,
        /// The definition.
        spec: Box<AgentSpec>,
    },

    /// The task goes on as another agent, from its next activation on.
    AgentSelected {
        /// What the agent is called.
        agent: String,
        /// Its definition; none for the session's usual agent.
        #[serde(default)]
        definition: Option<DefinitionId>,
        /// The model that performs it; the session's when absent.
        #[serde(default)]
        model: Option<ModelUse>,
    },

    /// A client began work of its own, or said something of it.
    ExternalTaskChanged {
        /// The work as it stands.
        external_task: Box<ExternalTask>,
    },
    /// Nobody has use for an ended external task's record any more.
    ExternalTaskForgotten {
        /// The external task.
        id: ExternalTaskId,
    },

    /// A task was made; it is queued.
    TaskCreated(Box<TaskSpec>),
    /// The task's result goes to its parent's inbox instead of to a waiting parent.
    TaskPromoted,
    /// The task cannot ask its model for now.
    TaskParked {
        /// When it resumes by itself; absent when only a person can change that.
        #[serde(default)]
        until_at: Option<Timestamp>,
        /// What it waits for.
        #[serde(default)]
        why: ParkReason,
    },
    /// The task's owner died, or its lease ended.
    TaskInterrupted,
    /// An idle task was woken, or an interrupted or parked one queues to go on.
    TaskRequeued,
    /// A task that lent its slot while it waited has one again.
    SlotRegained,
    /// Somebody asked the task to stop.
    CancelRequested {
        /// Who.
        by: CancelBy,
        /// How firmly.
        how: CancelMode,
        /// When a task that may still take a last turn is stopped at once.
        #[serde(default)]
        until_at: Option<Timestamp>,
    },
    /// The running task has shown no sign of life for a while.
    TaskStalled {
        /// Since when.
        since_at: Timestamp,
    },
    /// The task shows signs of life again.
    TaskUnstalled,
    /// A person has no use for the ended task's record any more; views leave it out.
    TaskForgotten,
    /// The task ended for good.
    TaskFinished {
        /// How.
        outcome: TaskOutcome,
    },

    /// An activation, or a new attempt at it, began to run.
    ActivationStarted {
        /// Which activation.
        activation: Activation,
        /// Which attempt.
        attempt: Attempt,
    },
    /// The hooks on an activation's start have run. What they said comes before its first turn.
    StartHooksRan {
        /// Which activation.
        activation: Activation,
        /// What they said.
        context: Vec<String>,
    },
    /// The hooks on an activation's stop have run for the last time.
    StopHooksRan {
        /// Which activation.
        activation: Activation,
    },
    /// The activation would have ended, and goes on.
    StopBlocked {
        /// Who held it.
        by: StopBlocker,
        /// What it is told.
        reason: String,
    },
    /// An activation ended; its result is delivered.
    ActivationEnded {
        /// Which activation.
        activation: Activation,
        /// How.
        outcome: TaskOutcome,
        /// The final or partial text.
        text: String,
    },

    /// Mail was accepted for the task.
    MailAdmitted {
        /// The mail.
        mail: MailId,
        /// Who wrote it.
        from: Principal,
        /// When it may be read.
        delivery: MailDelivery,
        /// What it says.
        body: MailBody,
    },
    /// Mail joined the task's conversation, in this order.
    MailDelivered {
        /// The pieces of mail.
        mail: Vec<MailId>,
    },
    /// Mail will never be read, since its reader ended.
    MailExpired {
        /// The mail.
        mail: MailId,
    },

    /// A model was asked.
    TurnBegun {
        /// Which turn.
        turn: Turn,
        /// The model.
        model: String,
        /// What was set aside for it.
        reserved: Cost,
        /// What its tokens cost; none when that is not known.
        #[serde(default)]
        price: Option<Price>,
        /// Most tokens the answer may have.
        #[serde(default)]
        max_output: Option<u32>,
        /// The tokens that were set aside for.
        #[serde(default)]
        quoted: QuotedTokens,
    },
    /// The answer is longer than was set aside for, and more was.
    TurnReservationRaised {
        /// Which turn.
        turn: Turn,
        /// What is set aside for it now.
        reserved: Cost,
        /// The output tokens that this covers.
        output: u32,
    },
    /// The task waits to ask its model: what is left of a budget is set aside for requests under way.
    BudgetAwaited,
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
        /// The model that answered, as its provider named it.
        model: String,
    },
    /// The model did not answer.
    TurnFailed {
        /// Which turn.
        turn: Turn,
        /// In which way.
        fault: ModelFault,
        /// What happened, for people.
        message: String,
        /// What the try is counted as.
        cost: Cost,
        /// The next try, if there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry: Option<RetryPlan>,
    },

    /// Hooks changed what a call is run with, before it was judged.
    CallRewritten {
        /// The call.
        call: CallId,
        /// Its arguments from here on.
        input: String,
    },

    /// Another model answered than the one that was asked.
    ModelDiffered {
        /// Which turn.
        turn: Turn,
        /// The model that was asked.
        asked: String,
        /// The model that answered, as its provider named it.
        answered: String,
    },
    /// Most of what the task may spend is spent.
    BudgetLow {
        /// What was spent.
        spent: Cost,
        /// What may be.
        budget: Budget,
    },
    /// The activation has one last turn, without tools.
    WrapUpBegan {
        /// Why.
        why: WrapUpReason,
    },
    /// The model is no longer told everything of the conversation's beginning; the log still has it.
    Compacted(Compaction),

    /// A tool call is about to run.
    CallStarted {
        /// The call.
        call: CallId,
    },
    /// A tool call has its one answer.
    CallAnswered {
        /// The call.
        call: CallId,
        /// The answer.
        answer: ToolResult,
        /// What it left behind.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        evidence: Vec<Evidence>,
    },
    /// The task's model is told of more tools from now on.
    ToolsLoaded {
        /// Their names.
        tools: Vec<String>,
    },

    /// A tool call of the task waits for other tasks; the task's slot is free meanwhile.
    WaitBegan {
        /// The tool call that waits.
        call: CallId,
        /// The tasks.
        on: Vec<TaskId>,
        /// Which of them must end.
        mode: WaitMode,
        /// When the wait gives up.
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
    /// What a tool call waited for is decided.
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

    /// Rows of the `todos` table were made, changed or removed, whoever did it.
    TodosChanged {
        /// Who changed them.
        by: Principal,
        /// The rows as they are now.
        changed: Vec<Todo>,
        /// Rows that are no longer there.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        gone: Vec<TodoId>,
        /// The last change of the file's own log of changes that this covers.
        #[serde(default)]
        upto: u64,
    },
    /// The runtime begins to work through the todos.
    FleetBegan(FleetConfig),
    /// The task holds this todo.
    TodoClaimed {
        /// The todo.
        todo: TodoId,
        /// The number of the claim: what an older one brings is refused.
        fence: u64,
    },
    /// Whoever held the todo gives it back, and it will be tried again.
    TodoReturned {
        /// The todo.
        todo: TodoId,
        /// The number of the claim.
        fence: u64,
        /// What went wrong; nothing when the work was only broken off.
        failure: Option<String>,
    },
    /// The todo is done, and what it was to satisfy holds.
    TodoDone {
        /// The todo.
        todo: TodoId,
        /// The number of the claim; none when an earlier run did it.
        #[serde(default)]
        fence: Option<u64>,
        /// What it brought when an earlier run did it, if that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reused: Option<ReusedResult>,
    },
    /// The todo cannot be done as things are.
    TodoBlocked {
        /// The todo.
        todo: TodoId,
        /// Why.
        why: BlockReason,
    },
    /// What blocked the todo no longer does.
    TodoUnblocked {
        /// The todo.
        todo: TodoId,
    },
    /// The runtime has done what it can with the todos.
    FleetEnded {
        /// How.
        end: FleetEnd,
    },

    /// The task works in a checkout of its own, which was looked at.
    WorkCheckedOut {
        /// Where it is.
        path: String,
        /// The commit it began with.
        base: String,
    },
    /// What the task changed in its checkout is kept as a commit.
    WorkSealed {
        /// The commit; the one it began with when nothing was changed.
        commit: String,
        /// The files in which it differs from that; the first of them.
        #[serde(default)]
        files: Vec<String>,
    },
    /// What a todo brought is in the merged tree.
    WorkMerged {
        /// The todo.
        todo: TodoId,
        /// The commit of the merge.
        commit: String,
    },

    /// The task made or changed an item of a list that others share; it is so already.
    ItemChanged {
        /// The list.
        list: ListName,
        /// The item as it is now.
        item: Box<ListItem>,
    },
    /// The session goes on in another mode.
    ModeChanged {
        /// The mode.
        mode: SessionMode,
        /// Who changed it.
        by: Principal,
    },
    /// The session goes on with another model: its own agent, and every agent that wants no other.
    ModelChanged {
        /// The model, as `--model` takes it.
        model: String,
        /// Who changed it.
        by: Principal,
    },
    /// Results that came to a task at rest wait for more of them until then, and are read together.
    WakeDelayed {
        /// When the task wakes at the latest.
        until_at: Timestamp,
    },
    /// The root, on autopilot, was told to go on.
    AutopilotContinued {
        /// How often since it was last given an objective.
        count: u32,
        /// A digest of what there was to see of its work.
        state: String,
    },
    /// The root, on autopilot, does not go on by itself any more.
    AutopilotStopped {
        /// Why.
        why: AutopilotStop,
        /// How often it was told to go on.
        continues: u32,
    },

    /// What the user may want to say next, as the root's model guesses.
    PromptSuggested {
        /// The words.
        text: String,
    },
    /// What the agent says it is doing.
    IntentReported {
        /// In its words.
        intent: String,
    },

    /// An event that a newer version wrote.
    #[serde(other)]
    Unknown,
}

/// What a model is no longer told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Compaction {
    /// How many messages at the conversation's beginning it concerns.
    pub messages: u32,
    /// What stands for all of them; without it only their tool output is left out.
    #[serde(default)]
    pub digest: Option<String>,
    /// Why.
    #[serde(default)]
    pub cause: CompactionCause,
}

/// Why a model is told less.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CompactionCause {
    /// Its context window is nearly full.
    #[default]
    ContextFull,
    /// Somebody asked for it.
    Requested,
}

impl CompactionCause {
    /// What hooks know it as.
    pub fn trigger(self) -> &'static str {
        match self {
            CompactionCause::ContextFull => "auto",
            CompactionCause::Requested => "manual",
        }
    }
}

/// How a session is run. A process that goes on with it takes over what it is not told otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionConfig {
    /// The folder it works in.
    pub cwd: String,
    /// The model that is asked, as `--model` takes it.
    pub model: String,
    /// What becomes of calls that no rule speaks of.
    pub permission: PermissionMode,
    /// The rules that its command line gave, oldest first.
    #[serde(default)]
    pub rules: Vec<RuleText>,
    /// More folders that file tools may reach.
    #[serde(default)]
    pub roots: Vec<String>,
    /// Whether the model may ask the user questions.
    #[serde(default = "yes")]
    pub ask_user: bool,
    /// Most turns that the root and everything below it may take for one prompt of the user.
    #[serde(default)]
    pub max_turns: Option<u32>,
    /// Most turns that one activation of the root may take, as its own definition says.
    #[serde(default)]
    pub root_turns: Option<u32>,
    /// How many agents there may be.
    #[serde(default)]
    pub limits: AgentLimits,
    /// What the root and everything below it may spend.
    #[serde(default)]
    pub budget: Budget,
    /// How hard the model should think; as its provider likes when absent.
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
    /// How deep the tree may grow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// Agents that may be started in all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<u32>,
    /// Agents that agents below the root may start within a minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<u32>,
    /// How often the root is told to continue for one objective on autopilot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continues: Option<u32>,
}

fn yes() -> bool {
    true
}

/// In which way a model call failed; the class decides what happens next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ModelFault {
    /// It may work on another try.
    Transient,
    /// No connection was made: the server is down, or the network is.
    Unreachable,
    /// The server is there and cannot serve anybody for now.
    Overloaded,
    /// It may work after a while.
    RetryAfter {
        /// How long, in milliseconds; 0 when the provider did not say.
        millis: u64,
    },
    /// A quota is used up until a known moment.
    QuotaUntil {
        /// When it resets.
        until_at: Timestamp,
    },
    /// The key is wrong or was taken back.
    Auth,
    /// The conversation is longer than the model takes.
    TooLong,
    /// It will not work.
    Terminal,
    /// Somebody stopped it.
    Cancelled,
    /// Its owner died while it was under way.
    Interrupted,
}

/// The next try after a model call that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RetryPlan {
    /// The number of that try, from 2.
    pub attempt: u32,
    /// How many tries there are at most.
    pub of: u32,
    /// How long until then, in milliseconds.
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
    /// An awaited task was sent to the background.
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
    fn an_envelope_is_flat_and_reads_itself_back() {
        let sent = envelope(Event::TaskParked { until_at: Some(Timestamp(9)), why: ParkReason::Quota });
        let json = serde_json::to_value(&sent).unwrap();
        assert_eq!(json["type"], "taskParked");
        assert_eq!(json["untilAt"], 9);
        assert_eq!(json["seq"], 3);
        assert_eq!(serde_json::from_value::<Envelope>(json).unwrap(), sent);
    }

    #[test]
    fn an_event_of_a_newer_version_is_unknown_not_an_error() {
        let mut json = serde_json::to_value(envelope(Event::AdmissionClosed)).unwrap();
        json["type"] = "holographic".into();
        assert_eq!(serde_json::from_value::<Envelope>(json).unwrap().entry.event, Event::Unknown);
    }
}
