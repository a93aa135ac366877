//! What runs report about themselves.

use std::collections::BTreeSet;

use protocol::{At, Block, CallId, Cost, Event, Kind, Outcome, Rest, Run, Turn};

use super::Draft;
use super::cancel::After;
use super::spawn::expect_call;
use crate::{CallPhase, Ending, Footing, Phase, Refusal, Report, Task, Wait, Work};

impl Draft<'_> {
    pub(super) fn report(&mut self, run: Run, report: Report) -> Result<(), Refusal> {
        let task = self.current(run)?;
        match report {
            Report::Boundary(point) => self.boundary(run, point),
            Report::TurnBegun { model, reserve } => self.begin_turn(run, model, reserve),
            Report::TurnAnswered { turn, content, stop, usage, cost, model } => {
                expect_turn(task, turn)?;
                distinct_calls(&content)?;
                self.record(run.task, Event::TurnAnswered { turn, content, stop, usage, cost, model })
            }
            Report::TurnFailed { turn, fault, message, cost } => {
                expect_turn(task, turn)?;
                self.record(run.task, Event::TurnFailed { turn, fault, message, cost })
            }
            Report::CallStarted { turn, call } => {
                expect_call(task, turn, &call, &CallPhase::Pending)?;
                self.record(run.task, Event::CallStarted { call })
            }
            Report::CallAnswered { turn, call, answer } => {
                expect_answerable(task, turn, &call)?;
                self.record(run.task, Event::CallAnswered { call, answer })
            }
            Report::Wait { turn, call, on, mode, until } => self.wait(run, turn, call, Wait { on, mode, until }),
            Report::Intent(intent) => self.record(run.task, Event::IntentReported { intent }),
            Report::Park(until) => self.park(run, until),
            Report::Ended { ending, text } => self.end(run, ending, text),
        }
    }

    fn begin_turn(&mut self, run: Run, model: String, reserved: Cost) -> Result<(), Refusal> {
        let task = self.current(run)?;
        if !task.work.is_between() {
            return Err(Refusal::InTurn);
        }
        if task.phase != Phase::Running(Footing::Slot) {
            return Err(Refusal::NoSlot);
        }
        if let Some(limit) = task.max_turns.filter(|limit| task.turns >= *limit) {
            return Err(Refusal::Turns { limit });
        }
        if let Some(short) = self.state.lineage(run.task).find(|task| !task.ledger.has_room(reserved)) {
            return Err(Refusal::Budget { task: short.id });
        }
        let turn = Turn(task.turn.0 + 1);
        self.record(run.task, Event::TurnBegun { turn, model, reserved })
    }

    fn park(&mut self, run: Run, until_at: At) -> Result<(), Refusal> {
        let task = self.current(run)?;
        if !task.work.is_between() {
            return Err(Refusal::InTurn);
        }
        if task.phase != Phase::Running(Footing::Slot) {
            return Err(Refusal::NoSlot);
        }
        self.record(run.task, Event::TaskParked { until_at })
    }

    fn end(&mut self, run: Run, ending: Ending, text: String) -> Result<(), Refusal> {
        let task = self.current(run)?;
        let after = match (&ending, task.rest, task.cancel) {
            (Ending::Completed, Rest::Idle, None) => After::Rest,
            (Ending::Completed, _, _)
            | (Ending::Failed { .. } | Ending::TimedOut(_) | Ending::BudgetExhausted, _, _) => After::Finish,
        };
        let outcome = match (task.cancel, ending) {
            (Some((by, _)), _) => Outcome::Cancelled { by },
            (None, Ending::Completed) => {
                expect_complete(task)?;
                Outcome::Completed
            }
            (None, Ending::Failed { kind, message }) => Outcome::Failed { kind, message },
            (None, Ending::TimedOut(limit)) => Outcome::TimedOut { limit },
            (None, Ending::BudgetExhausted) => Outcome::BudgetExhausted,
        };
        self.close(run.task, outcome, text, after)
    }
}

/// A task is complete with a final message, no open call and no unread mail. A command just ends.
fn expect_complete(task: &Task) -> Result<(), Refusal> {
    match (task.kind, &task.work) {
        (Kind::Shell, _) => Ok(()),
        (Kind::Main | Kind::Agent, Work::Answered { text: true }) if task.inbox.is_empty() => Ok(()),
        (Kind::Main | Kind::Agent, Work::Answered { text: true }) => Err(Refusal::MailWaiting),
        (Kind::Main | Kind::Agent, Work::Asking { .. } | Work::Acting(_)) => Err(Refusal::InTurn),
        (Kind::Main | Kind::Agent, Work::Fresh | Work::Boundary | Work::Answered { text: false }) => {
            Err(Refusal::NoAnswer)
        }
    }
}

fn expect_turn(task: &Task, turn: Turn) -> Result<(), Refusal> {
    let asking = matches!(task.work, Work::Asking { .. });
    if asking && task.turn == turn { Ok(()) } else { Err(Refusal::NoTurn) }
}

/// A call can be answered unless it was, or it still waits.
fn expect_answerable(task: &Task, turn: Turn, call: &CallId) -> Result<(), Refusal> {
    match task.work.call(call) {
        Some(CallPhase::Pending | CallPhase::Started | CallPhase::Waited { .. }) if task.turn == turn => Ok(()),
        Some(
            CallPhase::Pending
            | CallPhase::Started
            | CallPhase::Waited { .. }
            | CallPhase::Waiting(_)
            | CallPhase::Answered,
        )
        | None => Err(Refusal::Call(call.clone())),
    }
}

fn distinct_calls(content: &[Block]) -> Result<(), Refusal> {
    let mut seen = BTreeSet::new();
    for block in content {
        match block {
            Block::Call(call) if !seen.insert(&call.id) => return Err(Refusal::SameCall(call.id.clone())),
            Block::Call(_) | Block::Text { .. } | Block::Thinking { .. } | Block::Opaque { .. } => {}
        }
    }
    Ok(())
}
