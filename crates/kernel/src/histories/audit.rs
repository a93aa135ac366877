//! Checks the kernel's invariants against a second, simple interpretation of the log.

use std::collections::{BTreeMap, BTreeSet};

use protocol::*;

use super::asks::AskAudit;
use super::checks;
use super::external_tasks::ExternalTaskAudit;
use super::hooks::HookAudit;
use super::mails::MailAudit;
use super::modes::ModeAudit;
use super::run_turns::TurnAudit;
use super::starts::StartAudit;
use crate::*;

/// A state with more tasks than this is large: checking all of it is slow.
const LARGE_STATE_TASKS: usize = 40;
/// One in this many large states is checked as a whole.
const LARGE_STATE_INTERVAL: u64 = 32;

/// The state of the session according to the log so far.
#[derive(Default)]
pub(super) struct LogAudit {
    decisions: u64,
    finished: BTreeMap<TaskId, TaskOutcome>,
    /// The latest activation of each task, and whether it is open.
    activations: BTreeMap<TaskId, (u32, bool)>,
    /// The open calls of each task, and whether they have started.
    open_calls: BTreeMap<TaskId, BTreeMap<CallId, bool>>,
    /// Tasks that ask the user themselves.
    asks_user: BTreeSet<TaskId>,
    /// Tasks with a model request in progress.
    awaiting_model: BTreeSet<TaskId>,
    /// Whether the latest answer was a final message.
    has_final_message: BTreeMap<TaskId, bool>,
    /// Tasks that were complete before their last turn.
    completed_early: BTreeSet<TaskId>,
    /// The number of each task's latest turn.
    turns: BTreeMap<TaskId, u32>,
    defined: BTreeSet<DefinitionId>,
    asks: AskAudit,
    mails: MailAudit,
    hooks: HookAudit,
    starts: StartAudit,
    modes: ModeAudit,
    turn_limit: TurnAudit,
    external_tasks: ExternalTaskAudit,
}

impl LogAudit {
    /// Checks everything after a decision.
    pub(super) fn check_decision(&mut self, kernel: &Kernel, limits: &SessionLimits, effects: &[KernelEffect]) {
        let mut started = BTreeSet::new();
        for effect in effects {
            match effect {
                KernelEffect::Record(entry) => {
                    if let Event::ActivationStarted { activation, attempt } = entry.event {
                        started.insert(RunId { task: entry.task, activation, attempt });
                    }
                    self.check_event(entry, limits);
                    self.modes.check_event(kernel.root(), entry, limits);
                }
                KernelEffect::Start(run) => {
                    assert!(started.contains(run), "{run} started before it was recorded");
                    check_start(kernel, *run, effects);
                }
                KernelEffect::MayProceed(_)
                | KernelEffect::WaitOver { .. }
                | KernelEffect::AskOver { .. }
                | KernelEffect::Stop { .. } => {}
            }
        }
        // Check a large state as a whole only now and then.
        self.decisions += 1;
        if kernel.state.tasks.len() > LARGE_STATE_TASKS && !self.decisions.is_multiple_of(LARGE_STATE_INTERVAL) {
            return;
        }
        self.check_outcomes(kernel);
        self.asks.check(kernel);
        self.mails.check(kernel);
        self.hooks.check(kernel);
        self.starts.check(kernel);
        self.modes.check(kernel);
        self.external_tasks.check(kernel);
        checks::check_state(kernel, limits);
    }

    fn check_event(&mut self, entry: &LogEntry, limits: &SessionLimits) {
        let id = entry.task;
        self.mails.check_event(id, &entry.event);
        self.hooks.check_event(id, &entry.event, limits);
        self.starts.check_event(entry, limits);
        self.turn_limit.check_event(entry);
        self.external_tasks.check_event(entry);
        assert!(
            !self.finished.contains_key(&id)
                || matches!(entry.event, Event::MailExpired { .. } | Event::StopHooksRan { .. } | Event::TaskForgotten),
            "{:?} after {id} had finished",
            entry.event
        );
        match &entry.event {
            Event::TaskFinished { outcome } => {
                self.finished.insert(id, outcome.clone());
            }
            Event::ActivationStarted { activation, attempt } => {
                self.check_activation_started(id, *activation, *attempt)
            }
            Event::ActivationEnded { activation, outcome, .. } => self.check_activation_ended(id, *activation, outcome),
            Event::AgentDefined { id, .. } => assert!(self.defined.insert(id.clone()), "{id} is defined twice"),
            Event::TurnBegun { turn, .. } => {
                let last = self.turns.insert(id, turn.0).unwrap_or(0);
                assert_eq!(turn.0, last + 1, "turns are numbered without gaps");
                assert!(self.awaiting_model.insert(id), "{id} has two model requests at once");
                assert!(
                    self.open_calls.get(&id).is_none_or(BTreeMap::is_empty),
                    "{id} sends a model request with calls open"
                );
            }
            Event::TurnAnswered { content, .. } => self.check_turn_answered(id, content),
            Event::TurnFailed { .. } => assert!(self.awaiting_model.remove(&id)),
            Event::CallStarted { call } => {
                let started = self.open_calls.get_mut(&id).and_then(|calls| calls.get_mut(call)).unwrap();
                assert!(!*started, "{call} was started twice");
                *started = true;
                self.asks.check_call_started(id, call);
            }
            Event::CallAnswered { call, .. } => {
                let answered = self.open_calls.get_mut(&id).and_then(|calls| calls.remove(call));
                assert!(answered.is_some(), "{call} was answered twice or never made");
                self.asks.call_answered(id, call);
            }
            Event::AskOpened(ask) => {
                let calls = self.open_calls.entry(id).or_default();
                // A task that asks the user itself opens the call with its question.
                if self.asks_user.contains(&id) {
                    assert_eq!(calls.insert(ask.call.clone(), true), None, "{} was open", ask.call);
                }
                let started = calls[&ask.call];
                self.asks.check_opened(id, ask, started);
            }
            Event::TaskCreated(spec) => self.asks_user.extend(spec.kind.asks_user().then_some(id)),
            Event::AskDecided { ask, call, decision, .. } => self.asks.check_decided(id, ask, call, decision),
            Event::WrapUpBegan { why } => self.completed_early.extend(why.counts_as_completed().then_some(id)),
            Event::SessionOpened(_)
            | Event::SessionAdopted { .. }
            | Event::SessionForked { .. }
            | Event::AdmissionClosed
            | Event::AdmissionOpened
            | Event::TaskPromoted
            | Event::TaskParked { .. }
            | Event::TaskInterrupted
            | Event::TaskRequeued
            | Event::SlotRegained
            | Event::CancelRequested { .. }
            | Event::MailAdmitted { .. }
            | Event::MailDelivered { .. }
            | Event::MailExpired { .. }
            | Event::WakeDelayed { .. }
            | Event::TaskStalled { .. }
            | Event::TaskUnstalled
            | Event::TaskForgotten
            | Event::StartHooksRan { .. }
            | Event::StopHooksRan { .. }
            | Event::StopBlocked { .. }
            | Event::CallRewritten { .. }
            | Event::CallProgressed { .. }
            | Event::ToolsLoaded { .. }
            | Event::WaitBegan { .. }
            | Event::WaitEnded { .. }
            | Event::ItemChanged { .. }
            | Event::IntentReported { .. }
            | Event::PromptSuggested { .. }
            | Event::TodosChanged { .. }
            | Event::FleetBegan(_)
            | Event::TodoClaimed { .. }
            | Event::TodoReturned { .. }
            | Event::TodoDone { .. }
            | Event::TodoBlocked { .. }
            | Event::TodoUnblocked { .. }
            | Event::FleetEnded { .. }
            | Event::WorkCheckedOut { .. }
            | Event::WorkSealed { .. }
            | Event::WorkMerged { .. }
            | Event::FleetMerged(_)
            | Event::ModelDiffered { .. }
            | Event::BudgetLow { .. }
            | Event::Compacted(_)
            | Event::ConversationCut { .. }
            | Event::ModeChanged { .. }
            | Event::ModelChanged { .. }
            | Event::McpServerToggled { .. }
            | Event::AutopilotContinued { .. }
            | Event::AutopilotStopped { .. }
            | Event::AgentSelected { .. }
            | Event::SessionTitled { .. }
            | Event::ExternalTaskReported { .. }
            | Event::McpTaskReported { .. }
            | Event::BudgetAwaited
            | Event::Unknown => {}
            Event::TurnReservationRaised { .. } => {
                assert!(self.awaiting_model.contains(&id), "{id} raises a reservation without a model request")
            }
        }
    }

    fn check_activation_started(&mut self, id: TaskId, activation: Activation, attempt: Attempt) {
        let (last, open) = self.activations.get(&id).copied().unwrap_or((0, false));
        if attempt == Attempt(1) {
            assert!(!open, "{id} began an activation inside another");
            assert_eq!(activation.0, last + 1);
            self.completed_early.remove(&id);
        } else {
            assert!(open, "{id} started another attempt at an ended activation");
            assert_eq!(activation.0, last);
        }
        self.activations.insert(id, (activation.0, true));
    }

    fn check_activation_ended(&mut self, id: TaskId, activation: Activation, outcome: &TaskOutcome) {
        assert_eq!(self.activations.insert(id, (activation.0, false)), Some((activation.0, true)));
        assert!(self.open_calls.get(&id).is_none_or(BTreeMap::is_empty), "{id} ended with calls open");
        assert!(!self.awaiting_model.contains(&id), "{id} ended during a model request");
        let has_taken_turns = self.turns.contains_key(&id);
        if *outcome == TaskOutcome::Completed && has_taken_turns && !self.completed_early.contains(&id) {
            assert_eq!(self.has_final_message.get(&id), Some(&true), "{id} completed without a final message");
        }
    }

    fn check_turn_answered(&mut self, id: TaskId, content: &[ContentBlock]) {
        assert!(self.awaiting_model.remove(&id));
        let calls = self.open_calls.entry(id).or_default();
        let mut has_text = false;
        for block in content {
            match block {
                ContentBlock::Call(call) => assert!(calls.insert(call.id.clone(), false).is_none()),
                ContentBlock::Text { .. } => has_text = true,
                ContentBlock::Thinking { .. } | ContentBlock::Opaque { .. } => {}
            }
        }
        self.has_final_message.insert(id, has_text && calls.is_empty());
    }

    /// Checks that every task has the outcome that the log records.
    fn check_outcomes(&self, kernel: &Kernel) {
        for task in kernel.tasks() {
            let finished = match &task.phase {
                TaskPhase::Finished(outcome) => Some(outcome),
                TaskPhase::Queued(_)
                | TaskPhase::Running(_)
                | TaskPhase::Idle
                | TaskPhase::Parked(_)
                | TaskPhase::Interrupted => None,
            };
            assert_eq!(finished, self.finished.get(&task.id));
        }
    }

    /// Checks that a limit for which a spawn was refused is reached.
    pub(super) fn check_spawn_refusal(
        &self,
        limits: &SessionLimits,
        now: Timestamp,
        parent: TaskId,
        refusal: &InputRefusal,
    ) {
        self.starts.check_refusal(limits, now, parent, refusal);
    }
}

/// Checks that a run that must stop is told so when it starts, and that while memory is tight no agent starts beside
/// another.
fn check_start(kernel: &Kernel, run: RunId, effects: &[KernelEffect]) {
    let Some(task) = kernel.task(run.task).filter(|task| task.run_id() == run) else { return };
    if let Some((_, how @ CancelMode::WrapUp)) = task.cancel.filter(|_| task.is_running()) {
        assert!(effects.contains(&KernelEffect::Stop { run, how }), "{run} was not told to stop");
    }
    let has_slot = task.needs_slot() && task.phase == TaskPhase::Running(SlotStatus::Holding);
    if kernel.state.memory == MemoryPressure::Tight && has_slot {
        assert_eq!(kernel.state.slots.held, 1, "{run} started beside others although memory is tight");
    }
}
