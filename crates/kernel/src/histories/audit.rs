//! The invariants, checked against a second, naive reading of the log.

use std::collections::{BTreeMap, BTreeSet};

use protocol::*;

use super::asks::Asks;
use super::world::World;
use crate::state::Admission;
use crate::*;

/// What the log has said so far.
#[derive(Default)]
pub(super) struct Audit {
    finished: BTreeMap<TaskId, Outcome>,
    activations: BTreeMap<TaskId, (u32, bool)>,
    open_calls: BTreeMap<TaskId, BTreeMap<CallId, bool>>,
    asking: BTreeSet<TaskId>,
    last_text: BTreeMap<TaskId, bool>,
    admitted: BTreeSet<MailId>,
    settled_mail: BTreeSet<MailId>,
    told: BTreeSet<(TaskId, Activation)>,
    turns: BTreeMap<TaskId, u32>,
    asks: Asks,
}

impl Audit {
    /// Checks everything after a decision.
    pub(super) fn after(&mut self, kernel: &Kernel, limits: &Limits, effects: &[Effect]) {
        let mut started = BTreeSet::new();
        for effect in effects {
            match effect {
                Effect::Record(entry) => {
                    if let Event::ActivationStarted { activation, attempt } = entry.event {
                        started.insert(Run { task: entry.task, activation, attempt });
                    }
                    self.read(entry);
                }
                Effect::Start(run) => assert!(started.contains(run), "{run} started before it was recorded"),
                Effect::Go(_) | Effect::WaitOver { .. } | Effect::AskOver { .. } | Effect::Stop { .. } => {}
            }
        }
        self.check_tasks(kernel, limits);
        self.asks.check(kernel);
        check_indexes(kernel, limits);
        check_ledgers(kernel);
    }

    fn read(&mut self, entry: &Entry) {
        let id = entry.task;
        assert!(
            !self.finished.contains_key(&id)
                || matches!(
                    entry.event,
                    Event::MailExpired { .. } | Event::ActivationParted { .. } | Event::TaskForgotten
                ),
            "{:?} after {id} had finished",
            entry.event
        );
        match &entry.event {
            Event::TaskFinished { outcome } => {
                self.finished.insert(id, outcome.clone());
            }
            Event::ActivationStarted { activation, attempt } => self.started(id, *activation, *attempt),
            Event::ActivationEnded { activation, outcome, .. } => self.ended(id, *activation, outcome),
            Event::MailAdmitted { mail, body, .. } => {
                assert!(self.admitted.insert(*mail), "{mail} was admitted twice");
                if let Body::Result { task, activation } = body {
                    assert!(self.told.insert((*task, *activation)), "the result of {task} was told twice");
                }
            }
            Event::MailDelivered { mail } => mail.iter().for_each(|mail| self.settle(*mail)),
            Event::MailExpired { mail } => self.settle(*mail),
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
            Event::Asked(ask) => self.asks.asked(id, ask, self.open_calls[&id][&ask.call]),
            Event::AskDecided { ask, call, decision, .. } => self.asks.decided(id, ask, call, decision),
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
            | Event::AgentDefined { .. }
            | Event::TaskStalled { .. }
            | Event::TaskStirred
            | Event::TaskForgotten
            | Event::ActivationGreeted { .. }
            | Event::ActivationParted { .. }
            | Event::StopHeld { .. }
            | Event::CallRewritten { .. }
            | Event::ToolsLoaded { .. }
            | Event::WaitBegan { .. }
            | Event::WaitEnded { .. }
            | Event::IntentReported { .. }
            | Event::ModelDiffered { .. }
            | Event::BudgetLow { .. }
            | Event::WrapUpBegan { .. }
            | Event::Compacted(_)
            | Event::Unknown => {}
        }
    }

    fn started(&mut self, id: TaskId, activation: Activation, attempt: Attempt) {
        let (last, open) = self.activations.get(&id).copied().unwrap_or((0, false));
        if attempt == Attempt(1) {
            assert!(!open, "{id} began an activation inside another");
            assert_eq!(activation.0, last + 1);
        } else {
            assert!(open, "{id} tried again what had ended");
            assert_eq!(activation.0, last);
        }
        self.activations.insert(id, (activation.0, true));
    }

    fn ended(&mut self, id: TaskId, activation: Activation, outcome: &Outcome) {
        assert_eq!(self.activations.insert(id, (activation.0, false)), Some((activation.0, true)));
        assert!(self.open_calls.get(&id).is_none_or(BTreeMap::is_empty), "{id} ended with calls open");
        assert!(!self.asking.contains(&id), "{id} ended while it asked");
        let spoke = self.turns.contains_key(&id);
        if *outcome == Outcome::Completed && spoke {
            assert_eq!(self.last_text.get(&id), Some(&true), "{id} completed without a final message");
        }
    }

    fn answered(&mut self, id: TaskId, content: &[Block]) {
        assert!(self.asking.remove(&id));
        let calls = self.open_calls.entry(id).or_default();
        let mut text = false;
        for block in content {
            match block {
                Block::Call(call) => assert!(calls.insert(call.id.clone(), false).is_none()),
                Block::Text { .. } => text = true,
                Block::Thinking { .. } | Block::Opaque { .. } => {}
            }
        }
        self.last_text.insert(id, text && calls.is_empty());
    }

    fn settle(&mut self, mail: MailId) {
        assert!(self.admitted.contains(&mail));
        assert!(self.settled_mail.insert(mail), "{mail} was delivered twice");
    }

    fn check_tasks(&self, kernel: &Kernel, limits: &Limits) {
        let agents = || kernel.tasks().filter(|task| task.kind == Kind::Agent);
        assert!(agents().count() as u32 <= limits.total);
        for task in agents() {
            assert!(task.depth <= limits.depth);
        }
        for task in kernel.tasks() {
            let finished = match &task.phase {
                Phase::Finished(outcome) => Some(outcome),
                Phase::Queued(_) | Phase::Running(_) | Phase::Idle | Phase::Parked(_) | Phase::Interrupted => None,
            };
            assert_eq!(finished, self.finished.get(&task.id));
            let names: BTreeSet<_> = task.children.iter().map(|id| &kernel.task(*id).unwrap().name).collect();
            assert_eq!(names.len(), task.children.len(), "two children share a name");
            if task.is_finished() {
                assert!(task.inbox.is_empty(), "an ended task has mail");
                let alive = task.children.iter().any(|id| !kernel.task(*id).unwrap().is_finished());
                assert!(!alive, "an ended task has a living child");
            }
            if task.mode == Mode::Sync && !task.phase.is_at_rest() {
                assert!(kernel.state.waiters.contains_key(&task.id), "nobody waits for {}", task.id);
            }
        }
    }

    /// A state folded from the log is the state that wrote it, but for leases, which are not durable.
    pub(super) fn same_but_leases(&self, live: &Kernel, folded: &Kernel) {
        let mut live = live.clone();
        let ids: Vec<TaskId> = live.state.tasks.keys().copied().collect();
        for id in ids {
            live.state
                .update(id, |task| {
                    task.lease = None;
                    Ok(())
                })
                .unwrap();
        }
        assert_eq!(live.state.tasks, folded.state.tasks);
        assert_eq!(live.state.alarms, folded.state.alarms);
        assert_eq!(live.state.waiters, folded.state.waiters);
        assert_eq!(live.state.asks, folded.state.asks);
        assert_eq!((live.state.next_mail, live.state.started), (folded.state.next_mail, folded.state.started));
        assert_eq!((live.state.busy, live.state.slots.held), (folded.state.busy, folded.state.slots.held));
    }

    pub(super) fn nobody_runs(&self, kernel: &Kernel) {
        assert!(kernel.tasks().all(|task| !task.is_running()), "a task runs without an owner");
    }

    /// After an orderly end nothing is left to do, and every result has reached somebody.
    pub(super) fn at_rest(world: &World) {
        assert!(world.kernel.is_quiet(), "the session did not come to rest");
        let state = &world.kernel.state;
        assert_eq!(state.slots.held, 0);
        assert!(state.waiters.is_empty() && state.alarms.is_empty() && state.asks.is_empty());
        for task in world.kernel.tasks() {
            assert_eq!(task.ledger.reserved, Cost::ZERO);
            assert!(task.phase.is_at_rest());
        }
    }
}

fn check_indexes(kernel: &Kernel, limits: &Limits) {
    let state = &kernel.state;
    let busy = kernel.tasks().filter(|task| task.phase.is_busy()).count();
    assert_eq!(state.busy, busy);
    let agents = || kernel.tasks().filter(|task| task.needs_slot());
    let holding = agents().filter(|task| task.phase == Phase::Running(Footing::Slot)).count();
    assert_eq!(state.slots.held as usize, holding);
    assert!(state.slots.held <= limits.live, "more agents run than may");
    for task in agents() {
        let queued = matches!(task.phase, Phase::Queued(_));
        assert_eq!(state.slots.fresh.contains(task.id), queued);
        let returning = task.phase == Phase::Running(Footing::Returning);
        assert_eq!(state.slots.returning.contains(task.id), returning);
        let lent = task.phase == Phase::Running(Footing::Lent);
        assert!(!lent || task.work.is_waiting(), "a slot is lent for nothing");
    }
    for task in kernel.tasks() {
        for (call, wait) in task.work.waits() {
            for on in &wait.on {
                assert!(state.waiters[on].contains(&(task.id, call.clone())));
            }
            let done = |id: &TaskId| kernel.task(*id).unwrap().phase.is_at_rest();
            let satisfied = match wait.mode {
                WaitMode::Any => wait.on.iter().any(done),
                WaitMode::All => wait.on.iter().all(done),
            };
            assert!(!satisfied, "a wait that is over goes on");
        }
    }
    let line = state.slots.returning.first().or(state.slots.fresh.first());
    let running = kernel.tasks().any(Task::is_running);
    if running && state.admission == Admission::Open {
        assert!(state.slots.held == limits.live || line.is_none(), "a slot is free and somebody waits for it");
    }
}

fn check_ledgers(kernel: &Kernel) {
    for task in kernel.tasks() {
        let booked = task.ledger.spent.plus(task.ledger.reserved);
        assert!(task.ledger.budget.allows(booked), "{} spent past its budget", task.id);
        let asking =
            kernel.state.subtree(task.id).into_iter().fold(Cost::ZERO, |sum, id| match kernel.task(id).unwrap().work {
                Work::Asking { reserved, .. } => sum.plus(reserved),
                Work::Fresh | Work::Boundary | Work::Acting(_) | Work::Answered { .. } => sum,
            });
        assert_eq!(task.ledger.reserved, asking);
    }
}
