//! Reads a log from its beginning and says what clients are told of each entry.

use std::collections::{HashMap, HashSet};

use host::{Clock, SystemClock};
use protocol::{
    AskId, AskSubject, CallId, Envelope, Event, MailId, ParkReason, SessionId, SessionMode, TaskId, Timestamp,
};
use serde_json::{Value, json};
use uuid::Uuid;

use super::event::{CopilotEvent, event_id};
use super::mail::UnreadMail;
use super::session::{autopilot_stopped, compacted};
use super::tasks::TrackedAgent;
use super::turns::TrackedCall;

/// What must be remembered of a log to say the next thing right.
#[derive(Debug)]
pub(crate) struct EventTranslator {
    pub(super) session: SessionId,
    /// What clients call the session.
    pub(super) called: String,
    pub(super) root: Option<TaskId>,
    pub(super) mode: SessionMode,
    pub(super) model: String,
    /// Whether the session's agent has written a plan.
    pub(super) has_plan: bool,
    pub(super) agents: HashMap<TaskId, TrackedAgent>,
    pub(super) calls: HashMap<(TaskId, CallId), TrackedCall>,
    pub(super) asks: HashMap<AskId, AskSubject>,
    /// Mail that nobody has read yet.
    pub(super) mail: HashMap<MailId, UnreadMail>,
    /// Continuations that the root was given and has not read.
    pub(super) continuations: HashSet<MailId>,
    pub(super) continuation_due: bool,
    /// The last event that is kept.
    last: Option<Uuid>,
    /// The last entry.
    seq: u64,
}

impl EventTranslator {
    /// Knows nothing of the session yet.
    pub(crate) fn new(session: SessionId, called: String) -> EventTranslator {
        EventTranslator {
            session,
            called,
            root: None,
            mode: SessionMode::default(),
            model: String::new(),
            has_plan: false,
            agents: HashMap::new(),
            calls: HashMap::new(),
            asks: HashMap::new(),
            mail: HashMap::new(),
            continuations: HashSet::new(),
            continuation_due: false,
            last: None,
            seq: 0,
        }
    }

    /// What clients are told of the next entry.
    pub(crate) fn read(&mut self, envelope: Envelope) -> Vec<Value> {
        let (seq, task, at) = (envelope.seq, envelope.entry.task, envelope.entry.at);
        let told = self.translate(task, at, seq, envelope.entry.event);
        self.seq = seq;
        (0..).zip(told).map(|(part, wire)| self.place_event(wire, part, at)).collect()
    }

    /// An event that is not in the log, beside the last one that is.
    pub(crate) fn unlogged_event(&self, wire: CopilotEvent, id: Uuid) -> Value {
        wire.into_envelope(id, self.last, SystemClock.now())
    }

    fn place_event(&mut self, wire: CopilotEvent, part: u64, at: Timestamp) -> Value {
        let id = event_id(self.session, self.seq, part);
        let parent = self.last;
        if !wire.ephemeral {
            self.last = Some(id);
        }
        wire.into_envelope(id, parent, at)
    }

    pub(crate) fn is_root(&self, task: TaskId) -> bool {
        self.root == Some(task)
    }

    /// Whether an ask was told of, and is open.
    pub(crate) fn has_asked(&self, ask: &AskId) -> bool {
        self.asks.contains_key(ask)
    }

    /// Whether a call was told of, or is over.
    pub(crate) fn has_call_begun(&self, task: TaskId, call: &CallId) -> bool {
        self.calls.get(&(task, call.clone())).is_none_or(TrackedCall::is_started)
    }

    /// The last entry that was read.
    pub(crate) fn seq(&self) -> u64 {
        self.seq
    }

    /// Whose event it is, as clients are told: the session's own agent has no id.
    pub(super) fn subagent_id(&self, task: TaskId) -> Option<TaskId> {
        (self.root != Some(task)).then_some(task)
    }

    fn translate(&mut self, task: TaskId, at: Timestamp, seq: u64, event: Event) -> Vec<CopilotEvent> {
        match event {
            Event::SessionOpened(terms) => vec![self.opened(terms, at)],
            Event::SessionAdopted { config: terms, .. } => vec![self.adopted(terms, at, seq)],
            Event::TaskCreated(spec) => self.created(task, at, *spec),
            Event::TaskPromoted | Event::TaskRequeued | Event::TaskForgotten | Event::TaskInterrupted => {
                tasks_changed()
            }
            Event::TaskParked { until_at, why } => {
                let until = until_at.map(|until| format!(", until {until}")).unwrap_or_default();
                let message = format!("waiting for {}{until}", why.describe());
                let kind = if why == ParkReason::Auth { "auth" } else { "quota" };
                vec![CopilotEvent::transient("session.warning", json!({ "warningType": kind, "message": message }))]
            }
            Event::TaskFinished { outcome } => self.finished(task, at, &outcome),
            Event::ActivationStarted { .. } => self.activated(task, at),
            Event::ActivationEnded { outcome, .. } => self.rested(task, at, &outcome),
            Event::MailAdmitted { mail, from, delivery, body } => self.admitted(task, mail, from, delivery, body),
            Event::MailDelivered { mail } => mail.iter().filter_map(|mail| self.delivered(task, *mail)).collect(),
            Event::MailExpired { mail } => {
                self.mail.remove(&mail);
                Vec::new()
            }
            Event::TurnBegun { turn, model, .. } => self.turn_begun(task, turn, model),
            Event::TurnAnswered { turn, content, usage, model, .. } => {
                self.turn_answered(task, turn, content, usage, &model)
            }
            Event::TurnFailed { turn, fault, message, .. } => self.turn_failed(task, turn, fault, &message),
            Event::CallRewritten { call, input } => {
                self.rewritten(task, call, input);
                Vec::new()
            }
            Event::CallStarted { call } => self.call_started(task, call),
            Event::CallAnswered { call, answer, .. } => self.call_answered(task, call, answer),
            Event::AskOpened(ask) => self.asked(task, ask),
            Event::AskDecided { ask, call, decision, by } => self.decided(task, &ask, &call, decision, by),
            Event::TodosChanged { .. }
            | Event::TodoClaimed { .. }
            | Event::TodoReturned { .. }
            | Event::TodoDone { .. }
            | Event::TodoBlocked { .. }
            | Event::TodoUnblocked { .. } => vec![CopilotEvent::transient("session.todos_changed", json!({}))],
            Event::FleetBegan(_) | Event::FleetEnded { .. } => tasks_changed(),
            Event::ModeChanged { mode, .. } => {
                let before = std::mem::replace(&mut self.mode, mode);
                let modes = json!({ "previousMode": before.to_string(), "newMode": mode.to_string() });
                vec![CopilotEvent::persistent("session.mode_changed", modes)]
            }
            Event::ModelChanged { model, .. } => {
                let before = std::mem::replace(&mut self.model, model.clone());
                vec![CopilotEvent::persistent(
                    "session.model_change",
                    json!({ "previousModel": before, "newModel": model }),
                )]
            }
            Event::AgentSelected { agent, definition: Some(_), .. } => {
                let content = json!({ "agentName": agent, "agentDisplayName": agent, "tools": null });
                vec![CopilotEvent::persistent("subagent.selected", content)]
            }
            Event::AgentSelected { definition: None, .. } => {
                vec![CopilotEvent::persistent("subagent.deselected", json!({}))]
            }
            Event::ExternalTaskChanged { .. } | Event::ExternalTaskForgotten { .. } => tasks_changed(),
            Event::AutopilotContinued { .. } => {
                self.continuation_due = true;
                Vec::new()
            }
            Event::AutopilotStopped { why, .. } => autopilot_stopped(&why),
            Event::IntentReported { intent } => {
                vec![
                    CopilotEvent::transient("assistant.intent", json!({ "intent": intent }))
                        .for_agent(self.subagent_id(task)),
                ]
            }
            Event::Compacted(compaction) => vec![compacted(compaction).for_agent(self.subagent_id(task))],
            Event::BudgetLow { .. } => {
                let message = "most of what may be spent is spent";
                vec![CopilotEvent::persistent(
                    "session.warning",
                    json!({ "warningType": "budget", "message": message }),
                )]
            }
            Event::SessionForked { .. }
            | Event::AdmissionClosed
            | Event::AdmissionOpened
            | Event::AgentDefined { .. }
            | Event::SlotRegained
            | Event::CancelRequested { .. }
            | Event::TaskStalled { .. }
            | Event::TaskUnstalled
            | Event::StartHooksRan { .. }
            | Event::StopHooksRan { .. }
            | Event::StopBlocked { .. }
            | Event::ModelDiffered { .. }
            | Event::WrapUpBegan { .. }
            | Event::WakeDelayed { .. }
            | Event::ToolsLoaded { .. }
            | Event::WaitBegan { .. }
            | Event::WaitEnded { .. }
            | Event::WorkCheckedOut { .. }
            | Event::WorkSealed { .. }
            | Event::WorkMerged { .. }
            | Event::ItemChanged { .. }
            | Event::PromptSuggested { .. }
            | Event::TurnReservationRaised { .. }
            | Event::BudgetAwaited
            | Event::Unknown => Vec::new(),
        }
    }
}

/// That the tasks are others, or in another state.
pub(super) fn tasks_changed() -> Vec<CopilotEvent> {
    vec![CopilotEvent::transient("session.background_tasks_changed", json!({}))]
}
