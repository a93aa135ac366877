//! Asks: tool calls that wait for a person's permission or answer, and tasks that ask the user themselves.

use protocol::{Ask, AskDecision, AskId, AskSubject, DecidedBy, Event, Principal, RunId, TaskId, Turn};

use super::DecisionDraft;
use super::spawn::expect_call;
use crate::{CallPhase, InputRefusal, KernelEffect, KernelTask};

impl DecisionDraft<'_> {
    /// Opens an ask. A call that asks for permission has not started; a call that asks a question has.
    pub(super) fn ask(&mut self, run: RunId, turn: Turn, ask: Ask) -> Result<(), InputRefusal> {
        let task = self.task_of_run(run)?;
        if task.kind.asks_user() {
            expect_own_question(task, turn, &ask)?;
        } else if !(ask.subject.has_call_started() && has_answered_question(task, turn, &ask)) {
            let phase = if ask.subject.has_call_started() { CallPhase::Started } else { CallPhase::Pending };
            expect_call(task, turn, &ask.call, &phase)?;
        }
        if let AskSubject::Plan { .. } = ask.subject {
            self.expect_planning(run.task)?;
        }
        if self.state.asks.contains_key(&ask.id) {
            return Err(InputRefusal::WrongCallPhase(ask.call));
        }
        self.record(run.task, Event::AskOpened(ask))?;
        self.expire_asks(run.task)
    }

    /// Decides an open ask, whether or not its task is running.
    pub(super) fn decide_ask(&mut self, id: AskId, decision: AskDecision, by: DecidedBy) -> Result<(), InputRefusal> {
        let Some(ask) = self.open_ask(&id) else { return Err(InputRefusal::NoAsk(id)) };
        let (task, call) = (ask.0, ask.1.call.clone());
        if !decision.fits(&ask.1.subject) {
            return Err(InputRefusal::DecisionMismatch(id));
        }
        let new_mode = match &decision {
            AskDecision::Proceed { action } => action.mode(),
            AskDecision::Allow { .. } | AskDecision::Deny { .. } | AskDecision::Reply { .. } => None,
        };
        self.record(task, Event::AskDecided { ask: id, call: call.clone(), decision, by })?;
        if let Some(mode) = new_mode {
            let by = match by {
                DecidedBy::User => Principal::User,
                DecidedBy::Deadline => Principal::Runtime,
            };
            self.set_mode(mode, by)?;
        }
        let task = self.task(task)?;
        if task.is_running() {
            let run = task.run_id();
            self.effects.push(KernelEffect::AskOver { run, call });
        }
        Ok(())
    }

    /// Takes the default decision on asks whose deadline has passed. Without an owner asks stay open: the next owner
    /// first applies the decisions made meanwhile.
    pub(super) fn expire_asks(&mut self, id: TaskId) -> Result<(), InputRefusal> {
        let task = self.task(id)?;
        if !task.is_running() {
            return Ok(());
        }
        let expired = |ask: &&Ask| ask.until_at.is_some_and(|until| until <= self.now);
        let with_default = |ask: &Ask| (ask.id.clone(), ask.subject.default_decision());
        let asks: Vec<(AskId, AskDecision)> = task.work.asks().filter(expired).map(with_default).collect();
        for (ask, decision) in asks {
            self.decide_ask(ask, decision, DecidedBy::Deadline)?;
        }
        Ok(())
    }

    fn open_ask(&self, id: &AskId) -> Option<(TaskId, &Ask)> {
        let task = *self.state.asks.get(id)?;
        self.task(task).ok()?.work.asks().find(|ask| ask.id == *id).map(|ask| (task, ask))
    }
}

/// Checks a question of a task that asks the user itself. Each question has a call of its own.
fn expect_own_question(task: &KernelTask, turn: Turn, ask: &Ask) -> Result<(), InputRefusal> {
    let is_new = task.turn == turn && task.work.call(&ask.call).is_none();
    match &ask.subject {
        AskSubject::Question { .. } if is_new => Ok(()),
        AskSubject::Question { .. } | AskSubject::Permission { .. } | AskSubject::Plan { .. } => {
            Err(InputRefusal::WrongCallPhase(ask.call.clone()))
        }
    }
}

/// Whether the call has asked another question before, which is decided: a form has several fields.
fn has_answered_question(task: &KernelTask, turn: Turn, ask: &Ask) -> bool {
    match task.work.call(&ask.call) {
        Some(CallPhase::Decided(decided)) => task.turn == turn && decided.call_started && decided.ask != ask.id,
        Some(
            CallPhase::Pending
            | CallPhase::Started
            | CallPhase::Waiting(_)
            | CallPhase::Waited { .. }
            | CallPhase::Asking(_)
            | CallPhase::Answered,
        )
        | None => false,
    }
}
