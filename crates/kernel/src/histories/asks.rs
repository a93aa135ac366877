//! Asks in random histories: calls ask before and after they start, people decide at random, and [`AskAudit`] checks
//! the recorded events.

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

    /// Asks, unless the kernel refuses it with `unless`.
    pub(super) fn ask_unless_refused(
        &mut self,
        run: RunId,
        turn: Turn,
        call: CallId,
        subject: AskSubject,
        unless: &InputRefusal,
    ) {
        let probe = Ask { id: AskId("probe".into()), call: call.clone(), subject: subject.clone(), until_at: None };
        let result =
            self.kernel.clone().decide(self.now, KernelInput::Report(run, RunUpdate::Ask { turn, ask: probe }));
        if result.err().as_ref() != Some(unless) {
            self.ask(run, turn, call, subject);
        }
    }

    fn ask(&mut self, run: RunId, turn: Turn, call: CallId, subject: AskSubject) {
        let until_at = Some(Timestamp(self.now.0 + self.rng.below(60))).filter(|_| self.rng.one_in(2));
        let open: Vec<AskId> = self.kernel.state.asks.keys().cloned().collect();
        let reused_id = self.rng.pick(&open).filter(|_| self.rng.one_in(20));
        let id = reused_id.clone().unwrap_or_else(|| AskId(format!("ask-{}", self.all_asks.len())));
        let ask = Ask { id, call: call.clone(), subject, until_at };
        let report = KernelInput::Report(run, RunUpdate::Ask { turn, ask: ask.clone() });
        if reused_id.is_some() {
            assert_eq!(self.kernel.clone().decide(self.now, report), Err(InputRefusal::WrongCallPhase(call)));
            return;
        }
        self.all_asks.push(ask);
        self.apply_accepted(report);
    }

    /// For a call that waits for an ask: starts it, which must be refused, answers it, or decides the ask.
    pub(super) fn act_on_open_ask(&mut self, run: RunId, turn: Turn, ask: Ask) {
        match self.rng.below(4) {
            0 => {
                let start = KernelInput::Report(run, RunUpdate::CallStarted { turn, call: ask.call.clone() });
                assert_eq!(self.kernel.clone().decide(self.now, start), Err(InputRefusal::WrongCallPhase(ask.call)));
            }
            1 => drop(self.try_apply(KernelInput::Report(run, call_answered(turn, ask.call)))),
            _ => self.decide(ask),
        }
    }

    /// Tries to start a call whose ask is decided. The kernel refuses if it was denied or has already started.
    pub(super) fn start_if_allowed(&mut self, run: RunId, turn: Turn, call: CallId) {
        let _refusal = self.try_apply(KernelInput::Report(run, RunUpdate::CallStarted { turn, call }));
    }

    /// Decides a random ask, which may already be closed.
    pub(super) fn decide_random_ask(&mut self) {
        let Some(ask) = self.rng.pick(&self.all_asks) else { return };
        if self.kernel.state.asks.contains_key(&ask.id) {
            return self.decide(ask);
        }
        let decision = AskDecision::Deny { message: String::new() };
        let late = KernelInput::Decide { ask: ask.id.clone(), decision, by: DecidedBy::User };
        assert_eq!(self.kernel.clone().decide(self.now, late), Err(InputRefusal::NoAsk(ask.id)));
    }

    /// Denies an open ask of the run; returns whether there was one.
    pub(super) fn deny_open_ask(&mut self, run: RunId) -> bool {
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
                assert_eq!(self.kernel.clone().decide(self.now, decide), Err(InputRefusal::DecisionMismatch(ask.id)))
            }
        }
    }
}

/// The asks according to the log, to check the kernel's own record.
#[derive(Default)]
pub(super) struct AskAudit {
    open: BTreeMap<AskId, (TaskId, Ask)>,
    /// Asks that were decided or withdrawn.
    closed: BTreeSet<AskId>,
    /// Whether the permission that a call of the current turn asked for was granted; none while the ask is open.
    permissions: BTreeMap<(TaskId, CallId), Option<bool>>,
    /// Calls that were permitted and have not started.
    permitted: BTreeSet<(TaskId, CallId)>,
}

impl AskAudit {
    /// Checks a new ask; `started` is whether its call has started.
    pub(super) fn check_opened(&mut self, task: TaskId, ask: &Ask, started: bool) {
        let must_have_started = ask.subject.has_call_started();
        assert_eq!(must_have_started, started, "{} asks at the wrong time", ask.call);
        assert!(!self.closed.contains(&ask.id), "{} is asked again", ask.id);
        assert!(
            !self.open.values().any(|(other, open)| (*other, &open.call) == (task, &ask.call)),
            "a call asks twice"
        );
        if !must_have_started {
            self.permissions.insert((task, ask.call.clone()), None);
        }
        assert!(self.open.insert(ask.id.clone(), (task, ask.clone())).is_none());
    }

    pub(super) fn check_decided(&mut self, task: TaskId, id: &AskId, call: &CallId, decision: &AskDecision) {
        let (asker, ask) = self.open.remove(id).expect("only an open ask is decided, and only once");
        assert_eq!((asker, &ask.call), (task, call), "the decision is on another call");
        assert!(decision.fits(&ask.subject));
        self.closed.insert(id.clone());
        let key = (task, call.clone());
        if let Some(permit) = self.permissions.get_mut(&key) {
            let allowed = matches!(decision, AskDecision::Allow { .. });
            *permit = permit.or(Some(allowed));
            if allowed {
                assert!(self.permitted.insert(key), "one decision releases one call");
            }
        }
    }

    /// Checks that a call that starts did not ask for permission, or was permitted.
    pub(super) fn check_call_started(&mut self, task: TaskId, call: &CallId) {
        let key = (task, call.clone());
        match self.permissions.get(&key) {
            None => {}
            Some(Some(true)) => assert!(self.permitted.remove(&key), "a permission was used twice"),
            Some(Some(false)) => panic!("{call} started although it was denied"),
            Some(None) => panic!("{call} started before it was permitted"),
        }
    }

    /// Withdraws the ask of a call that is answered.
    pub(super) fn call_answered(&mut self, task: TaskId, call: &CallId) {
        let key = (task, call.clone());
        self.permissions.remove(&key);
        self.permitted.remove(&key);
        let id_if_of_call =
            |(id, (asker, ask)): (&AskId, &(TaskId, Ask))| (key == (*asker, ask.call.clone())).then(|| id.clone());
        for id in self.open.iter().filter_map(id_if_of_call).collect::<Vec<_>>() {
            self.open.remove(&id);
            self.closed.insert(id);
        }
    }

    /// Checks that the kernel and the log agree on open asks, and that no task that waits for a person holds a slot.
    pub(super) fn check(&self, kernel: &Kernel) {
        let open: BTreeMap<AskId, TaskId> = self.open.iter().map(|(id, (task, _))| (id.clone(), *task)).collect();
        assert_eq!(kernel.state.asks, open);
        assert_eq!(kernel.open_asks(), open.len());
        for task in kernel.tasks().filter(|task| task.work.asks().next().is_some()) {
            assert!(matches!(task.phase, TaskPhase::Running(_) | TaskPhase::Interrupted), "{} asks at rest", task.id);
            assert!(
                !task.needs_slot() || task.phase != TaskPhase::Running(SlotStatus::Holding),
                "a task that waits for a person holds a slot"
            );
            let alarm = |ask: &Ask| ask.until_at.map(|at| (at, task.id, Alarm::Call(ask.call.clone())));
            let mut alarms = task.work.asks().filter_map(alarm);
            assert!(
                !task.is_running() || alarms.all(|alarm| kernel.state.alarms.contains(&alarm)),
                "a deadline without an alarm"
            );
        }
    }

    /// Checks that no running task has an ask whose deadline has passed.
    pub(super) fn check_deadlines(kernel: &Kernel, now: Timestamp) {
        let has_expired_ask = |task: &KernelTask| {
            task.is_running() && task.work.asks().any(|ask| ask.until_at.is_some_and(|at| at <= now))
        };
        assert!(!kernel.tasks().any(has_expired_ask), "an ask is open after its deadline");
    }
}
