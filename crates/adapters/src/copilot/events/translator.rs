//! Translates a log, from its beginning, into events for clients.

use std::collections::{HashMap, HashSet};

use host::{Clock, SystemClock};
use protocol::{
    AskId, AskSubject, CallId, Envelope, Event, HiddenTasks, MailId, ParkReason, SessionId, SessionMode, TaskId,
    Timestamp,
};
use serde_json::{Value, json};
use uuid::Uuid;

use super::asks::CallDenial;
use super::event::{CopilotEvent, event_id};
use super::mail::UnreadMail;
use super::session::{autopilot_stopped, compacted};
use super::tasks::TrackedTask;
use super::turns::TrackedCall;
use super::user_shell::user_command_ended;
use crate::copilot::model_names::client_model_name;

/// The state needed to translate the next log entry.
#[derive(Debug)]
pub(crate) struct EventTranslator {
    pub(super) session: SessionId,
    /// The session's name for clients.
    pub(super) session_name: String,
    pub(super) root: Option<TaskId>,
    pub(super) mode: SessionMode,
    pub(super) model: String,
    /// Whether the session's agent has written a plan.
    pub(super) has_plan: bool,
    pub(super) agents: HashMap<TaskId, TrackedTask>,
    hidden: HiddenTasks,
    pub(super) calls: HashMap<(TaskId, CallId), TrackedCall>,
    pub(super) asks: HashMap<AskId, AskSubject>,
    /// Calls that were denied and not answered yet, with the reason.
    pub(super) denied_calls: HashMap<(TaskId, CallId), CallDenial>,
    /// Unread mail.
    pub(super) mail: HashMap<MailId, UnreadMail>,
    /// Autopilot continuations that the root has not read.
    pub(super) continuations: HashSet<MailId>,
    /// Whether the next mail from the runtime to the root is an autopilot continuation.
    pub(super) continuation_due: bool,
    /// The number of summaries that replaced parts of the root's conversation.
    checkpoints: u64,
    /// The number of the root's messages in the history.
    pub(super) root_messages: u64,
    /// The bytes of the root's text in the history.
    pub(super) root_bytes: u64,
    /// The id of the last event of the history.
    last_event: Option<Uuid>,
    /// The number of the last log entry.
    seq: u64,
}

impl EventTranslator {
    /// Creates a translator at the beginning of a log.
    pub(crate) fn new(session: SessionId, session_name: String) -> EventTranslator {
        EventTranslator {
            session,
            session_name,
            root: None,
            mode: SessionMode::default(),
            model: String::new(),
            has_plan: false,
            agents: HashMap::new(),
            hidden: HiddenTasks::default(),
            calls: HashMap::new(),
            asks: HashMap::new(),
            denied_calls: HashMap::new(),
            mail: HashMap::new(),
            continuations: HashSet::new(),
            continuation_due: false,
            checkpoints: 0,
            root_messages: 0,
            root_bytes: 0,
            last_event: None,
            seq: 0,
        }
    }

    /// Translates the next entry.
    pub(crate) fn translate_entry(&mut self, envelope: Envelope) -> Vec<Value> {
        let (seq, task, at) = (envelope.seq, envelope.entry.task, envelope.entry.at);
        let is_hidden = self.hidden.hides(task, &envelope.entry.event);
        let events = if is_hidden { Vec::new() } else { self.translate(task, at, seq, envelope.entry.event) };
        self.seq = seq;
        (0..).zip(events).map(|(index, event)| self.place_event(event, index, at)).collect()
    }

    /// Formats an event that is not in the log, as a child of the last one that is.
    pub(crate) fn unlogged_event(&self, event: CopilotEvent, id: Uuid) -> Value {
        event.into_json(id, self.last_event, SystemClock.now())
    }

    fn place_event(&mut self, event: CopilotEvent, index: u64, at: Timestamp) -> Value {
        let id = event_id(self.session, self.seq, index);
        let parent = self.last_event;
        if !event.ephemeral {
            self.last_event = Some(id);
        }
        event.into_json(id, parent, at)
    }

    /// Numbers the summary of a compaction of the root's conversation, if it has one.
    fn number_checkpoint(&mut self, task: TaskId, mut event: CopilotEvent) -> CopilotEvent {
        if self.is_root(task) && event.content["summaryContent"] != "" {
            self.checkpoints += 1;
            event.content["checkpointNumber"] = self.checkpoints.into();
        }
        event
    }

    pub(crate) fn is_root(&self, task: TaskId) -> bool {
        self.root == Some(task)
    }

    /// Whether an ask was announced and is open.
    pub(crate) fn is_ask_open(&self, ask: &AskId) -> bool {
        self.asks.contains_key(ask)
    }

    /// Whether a call was announced, or has ended.
    pub(crate) fn has_call_begun(&self, task: TaskId, call: &CallId) -> bool {
        self.calls.get(&(task, call.clone())).is_none_or(TrackedCall::is_started)
    }

    /// The number of the last entry that was read.
    pub(crate) fn seq(&self) -> u64 {
        self.seq
    }

    /// The agent id of a task's events; none for the root.
    pub(super) fn subagent_id(&self, task: TaskId) -> Option<TaskId> {
        (self.root != Some(task)).then_some(task)
    }

    fn translate(&mut self, task: TaskId, at: Timestamp, seq: u64, event: Event) -> Vec<CopilotEvent> {
        match event {
            Event::SessionOpened(config) => vec![self.session_opened(config, at)],
            Event::SessionAdopted { config, .. } => vec![self.session_adopted(config, at, seq)],
            Event::TaskCreated(spec) => self.task_created(task, at, *spec),
            Event::TaskPromoted | Event::TaskRequeued | Event::TaskForgotten | Event::TaskInterrupted => {
                tasks_changed()
            }
            Event::TaskParked { until_at, why } => {
                let until = until_at.map(|until| format!(", until {until}")).unwrap_or_default();
                let message = format!("waiting for {}{until}", why.describe());
                let kind = if why == ParkReason::Auth { "auth" } else { "quota" };
                vec![CopilotEvent::transient("session.warning", json!({ "warningType": kind, "message": message }))]
            }
            Event::TaskFinished { outcome } => self.task_finished(task, at, &outcome),
            Event::ActivationStarted { .. } => self.activation_started(task, at),
            Event::ActivationEnded { outcome, text, .. } if self.is_user_command(task) => {
                let ended = user_command_ended(task, &outcome, text);
                std::iter::once(ended).chain(self.activation_ended(task, at, &outcome)).collect()
            }
            Event::ActivationEnded { outcome, .. } => self.activation_ended(task, at, &outcome),
            Event::MailAdmitted { mail, from, delivery, body } => self.mail_admitted(task, mail, from, delivery, body),
            Event::MailDelivered { mail } => mail.iter().filter_map(|mail| self.mail_delivered(task, *mail)).collect(),
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
                self.call_rewritten(task, call, input);
                Vec::new()
            }
            Event::CallStarted { call } => self.call_started(task, call),
            Event::CallProgressed { call, progress, .. } => {
                let content = json!({ "toolCallId": call.to_string(), "progressMessage": progress.to_string() });
                let progressed = CopilotEvent::transient("tool.execution_progress", content);
                vec![progressed.for_agent(self.subagent_id(task))]
            }
            Event::CallAnswered { call, answer, .. } => self.call_answered(task, call, answer),
            Event::AskOpened(ask) => self.ask_opened(task, ask),
            Event::AskDecided { ask, call, decision, by } => self.ask_decided(task, &ask, &call, decision, by),
            Event::TodosChanged { .. }
            | Event::TodoClaimed { .. }
            | Event::TodoReturned { .. }
            | Event::TodoDone { .. }
            | Event::TodoBlocked { .. }
            | Event::TodoUnblocked { .. } => vec![CopilotEvent::transient("session.todos_changed", json!({}))],
            Event::FleetBegan(_) | Event::FleetEnded { .. } => tasks_changed(),
            Event::ModeChanged { mode, .. } => {
                let previous = std::mem::replace(&mut self.mode, mode);
                let modes = json!({ "previousMode": previous.to_string(), "newMode": mode.to_string() });
                vec![CopilotEvent::persistent("session.mode_changed", modes)]
            }
            Event::ModelChanged { model, effort, .. } => {
                let previous = std::mem::replace(&mut self.model, model.clone());
                let (previous, new) = (client_model_name(&previous), client_model_name(&model));
                let mut content = json!({ "previousModel": previous, "newModel": new });
                if let Some(effort) = effort {
                    content["reasoningEffort"] = effort.as_str().into();
                }
                vec![CopilotEvent::persistent("session.model_change", content)]
            }
            Event::McpServerToggled { server, enabled, .. } => {
                let status = if enabled { "stopped" } else { "disabled" };
                let content = json!({ "serverName": server, "status": status });
                vec![CopilotEvent::transient("session.mcp_server_status_changed", content)]
            }
            Event::AgentSelected { agent, definition: Some(_), .. } => {
                let content = json!({ "agentName": agent, "agentDisplayName": agent, "tools": null });
                vec![CopilotEvent::persistent("subagent.selected", content)]
            }
            Event::AgentSelected { definition: None, .. } => {
                vec![CopilotEvent::persistent("subagent.deselected", json!({}))]
            }
            Event::ExternalTaskReported { .. } | Event::McpTaskReported { .. } => tasks_changed(),
            Event::SessionTitled { title } => {
                vec![CopilotEvent::transient("session.title_changed", json!({ "title": title }))]
            }
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
            Event::Compacted(compaction) => {
                let event = compacted(compaction).for_agent(self.subagent_id(task));
                vec![self.number_checkpoint(task, event)]
            }
            Event::BudgetLow { .. } => {
                let message = "most of the budget is used up";
                vec![CopilotEvent::persistent(
                    "session.warning",
                    json!({ "warningType": "budget", "message": message }),
                )]
            }
            // The method that removes it reports it.
            Event::ConversationCut { .. }
            | Event::SessionForked { .. }
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
            | Event::FleetMerged(_)
            | Event::ItemChanged { .. }
            | Event::PromptSuggested { .. }
            | Event::TurnReservationRaised { .. }
            | Event::BudgetAwaited
            | Event::Unknown => Vec::new(),
        }
    }
}

/// The event for any change of tasks or their states.
pub(super) fn tasks_changed() -> Vec<CopilotEvent> {
    vec![CopilotEvent::transient("session.background_tasks_changed", json!({}))]
}
