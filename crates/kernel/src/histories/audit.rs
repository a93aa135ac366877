//! The invariants, checked against a second, naive reading of the log.

use std::collections::{BTreeMap, BTreeSet};

use protocol::*;

use super::asks::AskAudit;
use super::checks;
use super::hooks::HookAudit;
use super::mails::MailAudit;
use super::modes::ModeAudit;
use super::run_turns::TurnAudit;
use super::starts::StartAudit;
use crate::*;

/// From how many tasks on a state is large, and one in how many large states is checked as a whole.
const LARGE: usize = 40;
const EVERY: u64 = 32;

/// What the log has said so far.
#[derive(Default)]
pub(super) struct LogAudit {
    decisions: u64,
    finished: BTreeMap<TaskId, TaskOutcome>,
    activations: BTreeMap<TaskId, (u32, bool)>,
    open_calls: BTreeMap<TaskId, BTreeMap<CallId, bool>>,
    asking: BTreeSet<TaskId>,
    last_text: BTreeMap<TaskId, bool>,
    /// Tasks that were done before their last turn.
    closing: BTreeSet<TaskId>,
    turns: BTreeMap<TaskId, u32>,
    defined: BTreeSet<DefinitionId>,
    asks: AskAudit,
    mails: MailAudit,
    hooks: HookAudit,
    starts: StartAudit,
    modes: ModeAudit,
    run: TurnAudit,
}

impl LogAudit {
    /// Checks everything after a decision.
    pub(super) fn after(&mut self, kernel: &Kernel, limits: &SessionLimits, effects: &[KernelEffect]) {
        let mut started = BTreeSet::new();
        for effect in effects {
            match effect {
                KernelEffect::Record(entry) => {
                    if let Event::ActivationStarted { activation, attempt } = entry.event {
                        started.insert(RunId { task: entry.task, activation, attempt });
                    }
                    self.read(entry, limits);
                    self.modes.read(kernel.root(), entry, limits);
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
        // A large state is checked as a whole only now and then.
        self.decisions += 1;
        if kernel.state.tasks.len() > LARGE && !self.decisions.is_multiple_of(EVERY) {
            return;
        }
        self.check_outcomes(kernel);
        self.asks.check(kernel);
        self.mails.check(kernel);
        self.hooks.check(kernel);
        self.starts.check(kernel);
        self.modes.check(kernel);
        checks::check(kernel, limits);
    }

    fn read(&mut self, entry: &LogEntry, limits: &SessionLimits) {
        let id = entry.task;
        self.mails.read(id, &entry.event);
        self.hooks.read(id, &entry.event, limits);
        self.starts.read(entry, limits);
        self.run.read(entry);
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
            Event::ActivationStarted { activation, attempt } => self.started(id, *activation, *attempt),
            Event::ActivationEnded { activation, outcome, .. } => self.ended(id, *activation, outcome),
            Event::AgentDefined { id, .. } => assert!(self.defined.insert(id.clone()), "{id} is defined twice"),
            Event::TurnBegun { turn, .. } => {
                let last = self.turns.insert(id, turn.0).unwrap_or(0);
                assert_eq!(turn.0, last + 1, "turns are numbered without gaps");
                assert!(self.asking.insert(id), "{id} asks twice at once");
                assert!(self.open_calls.get(&id).is_none_or(BTreeMap::is_empty), "{id} asks with calls open");
            }
            Event::TurnAnswered { content, .. } => self.answered(id, content),
            Event::TurnFailed { .. } => assert!(self.asking.remove(&id)),
            Event::CallStarted { call } => {
                let started = self.open_calls.get_mut(&id).and_then(|calls| calls.get_mut(call)).unwrap();
                assert!(!*started, "{call} was started twice");
                *started = true;
                self.asks.started(id, call);
            }
            Event::CallAnswered { call, .. } => {
                let answered = self.open_calls.get_mut(&id).and_then(|calls| calls.remove(call));
                assert!(answered.is_some(), "{call} was answered twice, or never asked");
                self.asks.answered(id, call);
            }
            Event::AskOpened(ask) => self.asks.asked(id, ask, self.open_calls[&id][&ask.call]),
            Event::AskDecided { ask, call, decision, .. } => self.asks.decided(id, ask, call, decision),
            Event::WrapUpBegan { why } => self.closing.extend(why.counts_as_completed().then_some(id)),
            Event::SessionOpened(_)
            | Event::SessionAdopted { .. }
            | Event::SessionForked { .. }
            | Event::AdmissionClosed
            | Event::AdmissionOpened
            | Event::TaskCreated(_)
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
            | Event::ModelDiffered { .. }
            | Event::BudgetLow { .. }
            | Event::Compacted(_)
            | Event::ModeChanged { .. }
            | Event::ModelChanged { .. }
            | Event::AutopilotContinued { .. }
            | Event::AutopilotStopped { .. }
            | Event::AgentSelected { .. }
            | Event::ExternalTaskChanged { .. }
            | Event::ExternalTaskForgotten { .. }
            | Event::BudgetAwaited
            | Event::Unknown => {}
            Event::TurnReservationRaised { .. } => {
                assert!(self.asking.contains(&id), "{id} grows what it does not ask")
            }
        }
    }

    fn started(&mut self, id: TaskId, activation: Activation, attempt: Attempt) {
        let (last, open) = self.activations.get(&id).copied().unwrap_or((0, false));
        if attempt == Attempt(1) {
            assert!(!open, "{id} began an activation inside another");
            assert_eq!(activation.0, last + 1);
            self.closing.remove(&id);
        } else {
            assert!(open, "{id} tried again what had ended");
            assert_eq!(activation.0, last);
        }
        self.activations.insert(id, (activation.0, true));
    }

    fn ended(&mut self, id: TaskId, activation: Activation, outcome: &TaskOutcome) {
        assert_eq!(self.activations.insert(id, (activation.0, false)), Some((activation.0, true)));
        assert!(self.open_calls.get(&id).is_none_or(BTreeMap::is_empty), "{id} ended with calls open");
        assert!(!self.asking.contains(&id), "{id} ended while it asked");
        let spoke = self.turns.contains_key(&id);
        if *outcome == TaskOutcome::Completed && spoke && !self.closing.contains(&id) {
            assert_eq!(self.last_text.get(&id), Some(&true), "{id} completed without a final message");
        }
    }

    fn answered(&mut self, id: TaskId, content: &[ContentBlock]) {
        assert!(self.asking.remove(&id));
        let calls = self.open_calls.entry(id).or_default();
        let mut text = false;
        for block in content {
            match block {
                ContentBlock::Call(call) => assert!(calls.insert(call.id.clone(), false).is_none()),
                ContentBlock::Text { .. } => text = true,
                ContentBlock::Thinking { .. } | ContentBlock::Opaque { .. } => {}
            }
        }
        self.last_text.insert(id, text && calls.is_empty());
    }

    /// A task has one outcome, the one that the log says.
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

    /// A spawn was refused; a limit that did so is reached.
    pub(super) fn refused(&self, limits: &SessionLimits, now: Timestamp, parent: TaskId, refusal: &InputRefusal) {
        self.starts.refused(limits, now, parent, refusal);
    }
}

/// A run that must stop is told so when it starts, and while memory is short no agent starts beside another.
fn check_start(kernel: &Kernel, run: RunId, effects: &[KernelEffect]) {
    let Some(task) = kernel.task(run.task).filter(|task| task.run_id() == run) else { return };
    if let Some((_, how @ CancelMode::WrapUp)) = task.cancel.filter(|_| task.is_running()) {
        assert!(effects.contains(&KernelEffect::Stop { run, how }), "{run} does not know that it is to stop");
    }
    let has_slot = task.needs_slot() && task.phase == TaskPhase::Running(SlotStatus::Holding);
    if kernel.state.memory == MemoryPressure::Tight && has_slot {
        assert_eq!(kernel.state.slots.held, 1, "{run} started beside others though memory is short");
    }
}
