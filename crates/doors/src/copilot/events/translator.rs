//! Reads a log from its beginning and says what clients are told of each entry.

use std::collections::{HashMap, HashSet};

use host::{Clock, SystemClock};
use protocol::{AskId, At, CallId, Envelope, Event, MailId, ParkReason, SessionId, SessionMode, Subject, TaskId};
use serde_json::{Value, json};
use uuid::Uuid;

use super::mail::Letter;
use super::session::{compacted, stopped};
use super::tasks::Agent;
use super::turns::Call;
use super::wire::{Wire, event_id};

/// What must be remembered of a log to say the next thing right.
#[derive(Debug)]
pub(crate) struct Translator {
    pub(super) session: SessionId,
    /// What clients call the session.
    pub(super) called: String,
    pub(super) root: Option<TaskId>,
    pub(super) mode: SessionMode,
    pub(super) model: String,
    /// Whether the session's agent has written a plan.
    pub(super) has_plan: bool,
    pub(super) agents: HashMap<TaskId, Agent>,
    pub(super) calls: HashMap<(TaskId, CallId), Call>,
    pub(super) asks: HashMap<AskId, Subject>,
    /// Mail that nobody has read yet.
    pub(super) mail: HashMap<MailId, Letter>,
    /// Continuations that the root was given and has not read.
    pub(super) continuations: HashSet<MailId>,
    pub(super) continuation_due: bool,
    /// The last event that is kept.
    last: Option<Uuid>,
    /// The last entry.
    seq: u64,
}

impl Translator {
    /// Knows nothing of the session yet.
    pub(crate) fn new(session: SessionId, called: String) -> Translator {
        Translator {
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
        (0..).zip(told).map(|(part, wire)| self.placed(wire, part, at)).collect()
    }

    /// An event that is not in the log, beside the last one that is.
    pub(crate) fn beside(&self, wire: Wire, id: Uuid) -> Value {
        wire.placed(id, self.last, SystemClock.now())
    }

    fn placed(&mut self, wire: Wire, part: u64, at: At) -> Value {
        let id = event_id(self.session, self.seq, part);
        let parent = self.last;
        if !wire.ephemeral {
            self.last = Some(id);
        }
        wire.placed(id, parent, at)
    }

    pub(crate) fn is_root(&self, task: TaskId) -> bool {
        self.root == Some(task)
    }

    /// Whether an ask was told of, and is open.
    pub(crate) fn has_asked(&self, ask: &AskId) -> bool {
        self.asks.contains_key(ask)
    }

    /// Whether a call was told of, or is over.
    pub(crate) fn has_begun(&self, task: TaskId, call: &CallId) -> bool {
        self.calls.get(&(task, call.clone())).is_none_or(Call::is_started)
    }

    /// The last entry that was read.
    pub(crate) fn seq(&self) -> u64 {
        self.seq
    }

    /// Whose event it is, as clients are told: the session's own agent has no id.
    pub(super) fn whose(&self, task: TaskId) -> Option<TaskId> {
        (self.root != Some(task)).then_some(task)
    }

    fn translate(&mut self, task: TaskId, at: At, seq: u64, event: Event) -> Vec<Wire> {
        match event {
            Event::SessionOpened(terms) => vec![self.opened(terms, at)],
            Event::SessionAdopted { terms, .. } => vec![self.adopted(terms, at, seq)],
            Event::TaskCreated(spec) => self.created(task, at, *spec),
            Event::TaskPromoted | Event::TaskRequeued | Event::TaskForgotten | Event::TaskInterrupted => changed(),
            Event::TaskParked { until_at, why } => {
                let until = until_at.map(|until| format!(", until {until}")).unwrap_or_default();
                let message = format!("waiting for {}{until}", why.words());
                let kind = if why == ParkReason::Auth { "auth" } else { "quota" };
                vec![Wire::told("session.warning", json!({ "warningType": kind, "message": message }))]
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
            Event::Asked(ask) => self.asked(task, ask),
            Event::AskDecided { ask, call, decision, by } => self.decided(task, &ask, &call, decision, by),
            Event::TodosChanged { .. }
            | Event::TodoClaimed { .. }
            | Event::TodoReturned { .. }
            | Event::TodoDone { .. }
            | Event::TodoBlocked { .. }
            | Event::TodoFreed { .. } => vec![Wire::told("session.todos_changed", json!({}))],
            Event::FleetBegan(_) | Event::FleetEnded { .. } => changed(),
            Event::ModeChanged { mode, .. } => {
                let before = std::mem::replace(&mut self.mode, mode);
                let modes = json!({ "previousMode": before.to_string(), "newMode": mode.to_string() });
                vec![Wire::kept("session.mode_changed", modes)]
            }
            Event::ModelChanged { model, .. } => {
                let before = std::mem::replace(&mut self.model, model.clone());
                vec![Wire::kept("session.model_change", json!({ "previousModel": before, "newModel": model }))]
            }
            Event::AgentSelected { agent, definition: Some(_), .. } => {
                let content = json!({ "agentName": agent, "agentDisplayName": agent, "tools": null });
                vec![Wire::kept("subagent.selected", content)]
            }
            Event::AgentSelected { definition: None, .. } => vec![Wire::kept("subagent.deselected", json!({}))],
            Event::ErrandChanged { .. } | Event::ErrandForgotten { .. } => changed(),
            Event::AutopilotContinued { .. } => {
                self.continuation_due = true;
                Vec::new()
            }
            Event::AutopilotStopped { why, .. } => stopped(&why),
            Event::IntentReported { intent } => {
                vec![Wire::told("assistant.intent", json!({ "intent": intent })).of(self.whose(task))]
            }
            Event::Compacted(compaction) => vec![compacted(compaction).of(self.whose(task))],
            Event::BudgetLow { .. } => {
                let message = "most of what may be spent is spent";
                vec![Wire::kept("session.warning", json!({ "warningType": "budget", "message": message }))]
            }
            Event::SessionForked { .. }
            | Event::AdmissionClosed
            | Event::AdmissionOpened
            | Event::AgentDefined { .. }
            | Event::SlotRegained
            | Event::CancelRequested { .. }
            | Event::TaskStalled { .. }
            | Event::TaskStirred
            | Event::ActivationGreeted { .. }
            | Event::ActivationParted { .. }
            | Event::StopHeld { .. }
            | Event::ModelDiffered { .. }
            | Event::WrapUpBegan { .. }
            | Event::WakeDelayed { .. }
            | Event::ToolsLoaded { .. }
            | Event::WaitBegan { .. }
            | Event::WaitEnded { .. }
            | Event::WorkPlaced { .. }
            | Event::WorkSealed { .. }
            | Event::WorkMerged { .. }
            | Event::ItemChanged { .. }
            | Event::PromptSuggested { .. }
            | Event::TurnGrew { .. }
            | Event::BudgetAwaited
            | Event::Unknown => Vec::new(),
        }
    }
}

/// That the tasks are others, or in another state.
pub(super) fn changed() -> Vec<Wire> {
    vec![Wire::told("session.background_tasks_changed", json!({}))]
}
