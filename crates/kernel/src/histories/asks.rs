//! Asks in random histories: calls ask before and after they start, people decide at random, and a second reading of
//! the log checks what may follow from that.

use std::collections::{BTreeMap, BTreeSet};

use protocol::*;

use super::simulated_session::{SimulatedSession, call_answered};
use crate::index::Alarm;
use crate::*;

impl SimulatedSession {
    pub(super) fn ask_permission(&mut self, run: RunId, turn: Turn, call: CallId) {
        let (tool, input, reason) = ("shell".into(), "{}".into(), "no rule".into());
        self.ask(run, turn, call, AskSubject::Permission { tool, input, reason, rules: Vec::new() });
    }

    pub(super) fn ask_question(&mut self, run: RunId, turn: Turn, call: CallId) {
        self.ask(run, turn, call, AskSubject::Question { question: "which?".into(), choices: Vec::new() });
    }

    /// Asks, unless that is refused for a reason that is not looked at here.
    pub(super) fn ask_unless(
        &mut self,
        run: RunId,
        turn: Turn,
        call: CallId,
        subject: AskSubject,
        unless: &InputRefusal,
    ) {
        let probe = Ask { id: AskId("probe".into()), call: call.clone(), subject: subject.clone(), until_at: None };
        let tried = self.kernel.clone().apply(self.now, KernelInput::Report(run, RunUpdate::Ask { turn, ask: probe }));
        if tried.err().as_ref() != Some(unless) {
            self.ask(run, turn, call, subject);
        }
    }

    fn ask(&mut self, run: RunId, turn: Turn, call: CallId, subject: AskSubject) {
        let until_at = Some(Timestamp(self.now.0 + self.rng.below(60))).filter(|_| self.rng.one_in(2));
        let open: Vec<AskId> = self.kernel.state.asks.keys().cloned().collect();
        let taken = self.rng.pick(&open).filter(|_| self.rng.one_in(20));
        let id = taken.clone().unwrap_or_else(|| AskId(format!("ask-{}", self.all_asks.len())));
        let ask = Ask { id, call: call.clone(), subject, until_at };
        let report = KernelInput::Report(run, RunUpdate::Ask { turn, ask: ask.clone() });
        if taken.is_some() {
            assert_eq!(self.kernel.clone().apply(self.now, report), Err(InputRefusal::Call(call)));
            return;
        }
        self.all_asks.push(ask);
        self.apply_accepted(report);
    }

    /// A run whose call asks tries what it may not, or gives up.
    pub(super) fn while_asking(&mut self, run: RunId, turn: Turn, ask: Ask) {
        match self.rng.below(4) {
            0 => {
                let start = KernelInput::Report(run, RunUpdate::CallStarted { turn, call: ask.call.clone() });
                assert_eq!(self.kernel.clone().apply(self.now, start), Err(InputRefusal::Call(ask.call)));
            }
            1 => drop(self.try_apply(KernelInput::Report(run, call_answered(turn, ask.call)))),
            _ => self.decide(ask),
        }
    }

    /// A call whose ask is decided starts, unless it was denied or had begun before.
    pub(super) fn start_if_allowed(&mut self, run: RunId, turn: Turn, call: CallId) {
        let _refusal = self.try_apply(KernelInput::Report(run, RunUpdate::CallStarted { turn, call }));
    }

    /// Decides on anything that was ever asked.
    pub(super) fn decide_random_ask(&mut self) {
        let Some(ask) = self.rng.pick(&self.all_asks) else { return };
        if self.kernel.state.asks.contains_key(&ask.id) {
            return self.decide(ask);
        }
        let decision = AskDecision::Deny { message: String::new() };
        let late = KernelInput::Decide { ask: ask.id.clone(), decision, by: DecidedBy::User };
        assert_eq!(self.kernel.clone().apply(self.now, late), Err(InputRefusal::NoAsk(ask.id)));
    }

    /// Decides for a run that can only wait; returns whether there was anything to decide.
    pub(super) fn decide_for(&mut self, run: RunId) -> bool {
        let ask = self.kernel.task(run.task).and_then(|task| task.work.asks().next()).map(|ask| ask.id.clone());
        let Some(ask) = ask else { return false };
        self.apply_accepted(KernelInput::Decide {
            ask,
            decision: AskDecision::Deny { message: String::new() },
            by: DecidedBy::User,
        });
        true
    }

    fn decide(&mut self, ask: Ask) {
        let decision = match self.rng.below(6) {
            0 => AskDecision::Deny { message: "no".into() },
            5 => AskDecision::Proceed { action: self.rng.pick(&PlanAction::ALL).unwrap_or(PlanAction::ExitOnly) },
            1 | 2 => AskDecision::Allow { rules: Vec::new(), input: None },
            _ => AskDecision::Reply { text: "this one".into() },
        };
        let fits = decision.fits(&ask.subject);
        let decide = KernelInput::Decide { ask: ask.id.clone(), decision, by: DecidedBy::User };
        match fits {
            true => self.apply_accepted(decide),
            false => {
                assert_eq!(self.kernel.clone().apply(self.now, decide), Err(InputRefusal::DecisionMismatch(ask.id)))
            }
        }
    }
}

/// What the log has said of asks.
#[derive(Default)]
pub(super) struct AskAudit {
    open: BTreeMap<AskId, (TaskId, Ask)>,
    over: BTreeSet<AskId>,
    /// What became of the permission that a call of the present turn asked for; nothing while it is open.
    permits: BTreeMap<(TaskId, CallId), Option<bool>>,
    /// Calls that were permitted, and have not started.
    released: BTreeSet<(TaskId, CallId)>,
}

impl AskAudit {
    /// A call asks; `started` is whether it runs.
    pub(super) fn asked(&mut self, task: TaskId, ask: &Ask, started: bool) {
        let begun = ask.subject.has_call_started();
        assert_eq!(begun, started, "{} asks at the wrong time", ask.call);
        assert!(!self.over.contains(&ask.id), "{} is asked again", ask.id);
        assert!(
            !self.open.values().any(|(other, open)| (*other, &open.call) == (task, &ask.call)),
            "a call asks twice"
        );
        if !begun {
            self.permits.insert((task, ask.call.clone()), None);
        }
        assert!(self.open.insert(ask.id.clone(), (task, ask.clone())).is_none());
    }

    pub(super) fn decided(&mut self, task: TaskId, id: &AskId, call: &CallId, decision: &AskDecision) {
        let (asker, ask) = self.open.remove(id).expect("only what is open is decided, and once");
        assert_eq!((asker, &ask.call), (task, call), "the decision is on another call");
        assert!(decision.fits(&ask.subject));
        self.over.insert(id.clone());
        let place = (task, call.clone());
        if let Some(permit) = self.permits.get_mut(&place) {
            let allowed = matches!(decision, AskDecision::Allow { .. });
            *permit = permit.or(Some(allowed));
            if allowed {
                assert!(self.released.insert(place), "one decision releases one call");
            }
        }
    }

    /// A call starts: it asked for nothing, or was permitted.
    pub(super) fn started(&mut self, task: TaskId, call: &CallId) {
        let place = (task, call.clone());
        match self.permits.get(&place) {
            None => {}
            Some(Some(true)) => assert!(self.released.remove(&place), "a permission was used twice"),
            Some(Some(false)) => panic!("{call} started though it was denied"),
            Some(None) => panic!("{call} started before it was permitted"),
        }
    }

    /// A call is answered: what it asked is withdrawn.
    pub(super) fn answered(&mut self, task: TaskId, call: &CallId) {
        let place = (task, call.clone());
        self.permits.remove(&place);
        self.released.remove(&place);
        let of_call =
            |(id, (asker, ask)): (&AskId, &(TaskId, Ask))| (place == (*asker, ask.call.clone())).then(|| id.clone());
        for id in self.open.iter().filter_map(of_call).collect::<Vec<_>>() {
            self.open.remove(&id);
            self.over.insert(id);
        }
    }

    /// The kernel and the log agree on open asks, and no task that waits for a person holds a slot.
    pub(super) fn check(&self, kernel: &Kernel) {
        let open: BTreeMap<AskId, TaskId> = self.open.iter().map(|(id, (task, _))| (id.clone(), *task)).collect();
        assert_eq!(kernel.state.asks, open);
        assert_eq!(kernel.open_asks(), open.len());
        for task in kernel.tasks().filter(|task| task.work.asks().next().is_some()) {
            assert!(matches!(task.phase, TaskPhase::Running(_) | TaskPhase::Interrupted), "{} asks at rest", task.id);
            assert!(
                !task.needs_slot() || task.phase != TaskPhase::Running(SlotStatus::Holding),
                "a slot is held for a person"
            );
            let alarm = |ask: &Ask| ask.until_at.map(|at| (at, task.id, Alarm::Call(ask.call.clone())));
            let mut due = task.work.asks().filter_map(alarm);
            assert!(
                !task.is_running() || due.all(|alarm| kernel.state.alarms.contains(&alarm)),
                "a deadline without an alarm"
            );
        }
    }

    /// After its deadline nothing that runs is still asked.
    pub(super) fn expired(kernel: &Kernel, now: Timestamp) {
        let late = |task: &KernelTask| {
            task.is_running() && task.work.asks().any(|ask| ask.until_at.is_some_and(|at| at <= now))
        };
        assert!(!kernel.tasks().any(late), "a deadline passed and nothing happened");
    }
}
