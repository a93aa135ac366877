//! What runs report about themselves.

use std::collections::BTreeSet;

use protocol::{
    AutopilotStop, Block, Body, CallId, Cost, Decision, Delivery, Event, Holder, Kind, Limit, Origin, Outcome, Quote,
    Quoted, Rest, Run, TaskId, Turn, WrapUp,
};

use super::Draft;
use super::cancel::After;
use crate::{
    Asking, Booked, CallPhase, Decided, Ending, Footing, Last, Ledger, Parking, Phase, Refusal, Report, Task, Wait,
    Work, words,
};

impl Draft<'_> {
    pub(super) fn report(&mut self, run: Run, report: Report) -> Result<(), Refusal> {
        self.take(run, report)?;
        self.heard(run.task)
    }

    fn take(&mut self, run: Run, report: Report) -> Result<(), Refusal> {
        let task = self.current(run)?;
        match report {
            Report::Boundary(point) => self.boundary(run, point),
            Report::TurnBegun { model, quote } => self.begin_turn(run, model, quote),
            Report::TurnAnswered { turn, content, stop, usage, cost, model } => {
                let asked = &expect_turn(task, turn)?.model;
                distinct_calls(&content)?;
                let differs = (!is_same_model(asked, &model)).then(|| Event::ModelDiffered {
                    turn,
                    asked: asked.clone(),
                    answered: model.clone(),
                });
                self.record(run.task, Event::TurnAnswered { turn, content, stop, usage, cost, model })?;
                differs.map_or(Ok(()), |event| self.record(run.task, event))
            }
            Report::TurnFailed { turn, fault, message, booked, retry } => {
                let asked = expect_turn(task, turn)?;
                let cost = match booked {
                    Booked::Nothing => Cost::ZERO,
                    Booked::Used { output } => asked.cost(output),
                };
                self.record(run.task, Event::TurnFailed { turn, fault, message, cost, retry })
            }
            Report::TurnGrows { turn, output } => self.grow_turn(run, turn, output),
            Report::AwaitsBudget => {
                if !task.work.is_between() {
                    return Err(Refusal::InTurn);
                }
                self.record(run.task, Event::BudgetAwaited)
            }
            Report::WrapUp(why) => self.wrap_up(run, why),
            Report::Compacted(compaction) => {
                if !task.work.is_between() {
                    return Err(Refusal::InTurn);
                }
                self.record(run.task, Event::Compacted(compaction))
            }
            Report::CallRewritten { turn, call, input } => {
                expect_untouched(task, turn, &call)?;
                self.record(run.task, Event::CallRewritten { call, input })
            }
            Report::CallStarted { turn, call } => {
                expect_startable(task, turn, &call)?;
                self.record(run.task, Event::CallStarted { call })
            }
            Report::CallAnswered { turn, call, answer, evidence } => {
                expect_answerable(task, turn, &call)?;
                self.record(run.task, Event::CallAnswered { call, answer, evidence })
            }
            Report::CallsDropped { turn } => {
                if task.turn != turn {
                    return Err(Refusal::NoTurn);
                }
                self.drop_calls(run.task, &words::out_of_time())
            }
            Report::Wait { turn, call, on, mode, until } => self.wait(run, turn, call, Wait { on, mode, until }),
            Report::Ask { turn, ask } => self.ask(run, turn, ask),
            Report::WaitOver { turn, call } => self.wait_over(run, turn, call),
            Report::ItemChanged { list, item } => self.record(run.task, Event::ItemChanged { list, item }),
            Report::Objective { turn, call, completion } => self.complete(run, turn, &call, completion),
            Report::Intent(intent) => self.record(run.task, Event::IntentReported { intent }),
            Report::Suggested(text) => self.record(run.task, Event::PromptSuggested { text }),
            Report::ResultRead { task, activation } => self.result_read(run, task, activation),
            Report::ToolsLoaded(tools) => self.record(run.task, Event::ToolsLoaded { tools }),
            Report::Greeted(context) => self.greet(run, context),
            Report::Held { by, reason } => self.hold(run, by, reason),
            Report::Park(parking) => self.park(run, parking),
            Report::Placed { path, base } => self.record(run.task, Event::WorkPlaced { path, base }),
            Report::Sealed { commit, files } => self.record(run.task, Event::WorkSealed { commit, files }),
            Report::Ended { ending, text } => self.end(run, ending, text),
        }
    }

    fn begin_turn(&mut self, run: Run, model: String, quote: Quote) -> Result<(), Refusal> {
        let task = self.current(run)?;
        if !task.work.is_between() {
            return Err(Refusal::InTurn);
        }
        if task.phase != Phase::Running(Footing::Slot) {
            return Err(Refusal::NoSlot);
        }
        let spare = match task.last {
            None => quote.spare,
            Some(Last::Due(_)) => Cost::ZERO,
            Some(Last::Taken(_)) => return Err(Refusal::WrappedUp),
        };
        if let Some(limit) = task.max_turns.filter(|limit| task.last.is_none() && task.turns >= *limit) {
            return Err(Refusal::Turns { limit });
        }
        if let Some(limit) = self.state.max_turns.filter(|limit| task.last.is_none() && self.state.turns >= *limit) {
            return Err(Refusal::Turns { limit });
        }
        self.expect_steered(task)?;
        let turn = Turn(task.turn.0 + 1);
        let Quote { input, estimated, .. } = quote;
        let quote = self.state.counts.adjust(&model, quote);
        let (mut granted, mut low) = (quote.most, Vec::new());
        for above in self.state.lineage(run.task) {
            granted = granted.min(fit(&above.ledger, quote, spare).map_err(|short| short.refusal(above.id))?);
            if above.ledger.is_low() && !above.told_low {
                low.push((above.id, above.ledger));
            }
        }
        for (id, Ledger { spent, budget, .. }) in low {
            self.record(id, Event::BudgetLow { spent, budget })?;
        }
        let output = granted.min(quote.expected.max(quote.least));
        let (reserved, price, max_output) = (quote.cost(output), quote.price, Some(granted));
        let quoted = Quoted { input, estimated, output };
        self.record(run.task, Event::TurnBegun { turn, model, reserved, price, max_output, quoted })
    }

    /// Sets more aside for an answer that is longer than expected.
    fn grow_turn(&mut self, run: Run, turn: Turn, output: u32) -> Result<(), Refusal> {
        let task = self.current(run)?;
        let asked = expect_turn(task, turn)?;
        let output = output.min(asked.most);
        if output <= asked.quoted.output {
            return Ok(());
        }
        let reserved = asked.cost(output);
        let more = reserved.minus(asked.reserved);
        for above in self.state.lineage(run.task) {
            if !above.ledger.room().allows(more) {
                let others = above.ledger.reserved != asked.reserved;
                let short = if others { Short::Held } else { Short::Spent };
                return Err(short.refusal(above.id));
            }
        }
        self.record(run.task, Event::TurnGrew { turn, reserved, output })
    }

    /// The next turn is the activation's last.
    fn wrap_up(&mut self, run: Run, why: WrapUp) -> Result<(), Refusal> {
        let task = self.current(run)?;
        if !task.work.is_between() {
            return Err(Refusal::InTurn);
        }
        if task.last.is_some() {
            return Err(Refusal::WrappedUp);
        }
        match why {
            WrapUp::Budget | WrapUp::Time | WrapUp::Turns | WrapUp::Stop => {}
            WrapUp::Reported if self.state.root == Some(run.task) && self.state.helm.closing == Some(why) => {}
            WrapUp::Reported => return Err(Refusal::NotDue),
            WrapUp::NoChange => {
                self.expect_unchanged(run.task)?;
                self.land(run.task, AutopilotStop::NoChange)?;
            }
        }
        self.record(run.task, Event::WrapUpBegan { why })
    }

    /// Keeps a run that would end from ending: what it is told is its next mail.
    fn hold(&mut self, run: Run, by: Holder, reason: String) -> Result<(), Refusal> {
        let task = self.current(run)?;
        let closes = closes(task);
        if !closes || !task.work.is_between() {
            expect_answer(task)?;
        }
        let (held, cap) = match by {
            Holder::Hook => (task.holds, self.limits.holds),
            Holder::Expects => (task.repairs, self.limits.repairs),
        };
        if held >= cap || task.last.is_some() && !closes || task.cancel.is_some() {
            return Err(Refusal::Holds { cap });
        }
        self.record(run.task, Event::StopHeld { by, reason: reason.clone() })?;
        self.admit_mail(run.task, Origin::Runtime, Delivery::Steer, Body::text(reason))
    }

    fn park(&mut self, run: Run, parking: Parking) -> Result<(), Refusal> {
        let task = self.current(run)?;
        if !task.work.is_between() {
            return Err(Refusal::InTurn);
        }
        if task.phase != Phase::Running(Footing::Slot) {
            return Err(Refusal::NoSlot);
        }
        self.record(run.task, Event::TaskParked { until_at: parking.until, why: parking.why })
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
            (None, Ending::Completed) if task.last.is_some() => expect_wrapped(task)?,
            (None, Ending::Completed) => {
                if !self.may_rest_over(task) {
                    expect_complete(task)?;
                }
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
    match task.kind {
        Kind::Shell => Ok(()),
        Kind::Main | Kind::Agent => {
            expect_answer(task)?;
            if task.inbox.is_empty() { Ok(()) } else { Err(Refusal::MailWaiting) }
        }
    }
}

/// The model's last word is there, and nothing is open.
fn expect_answer(task: &Task) -> Result<(), Refusal> {
    match task.work {
        Work::Answered { text: true } => Ok(()),
        Work::Asking(_) | Work::Acting(_) => Err(Refusal::InTurn),
        Work::Fresh | Work::Boundary | Work::Answered { text: false } => Err(Refusal::NoAnswer),
    }
}

/// Whether the activation has had the last word that it was given because it is done.
fn closes(task: &Task) -> bool {
    matches!(task.last, Some(Last::Taken(why)) if why.completes())
}

/// What becomes of an activation that has taken its last turn: it did not complete, it stopped, unless it was done
/// before that.
fn expect_wrapped(task: &Task) -> Result<Outcome, Refusal> {
    match task.last {
        Some(Last::Taken(WrapUp::Reported | WrapUp::NoChange)) if !task.work.is_between() => Err(Refusal::InTurn),
        Some(Last::Taken(WrapUp::Reported | WrapUp::NoChange)) if !task.inbox.is_empty() => Err(Refusal::MailWaiting),
        Some(Last::Taken(WrapUp::Reported | WrapUp::NoChange)) => Ok(Outcome::Completed),
        Some(Last::Taken(WrapUp::Budget)) => Ok(Outcome::BudgetExhausted),
        Some(Last::Taken(WrapUp::Turns)) => Ok(Outcome::TimedOut { limit: Limit::Turns }),
        Some(Last::Taken(WrapUp::Time | WrapUp::Stop)) => Ok(Outcome::TimedOut { limit: Limit::Time }),
        Some(Last::Due(_)) | None => Err(Refusal::NoAnswer),
    }
}

/// The model call under way.
fn expect_turn(task: &Task, turn: Turn) -> Result<&Asking, Refusal> {
    match &task.work {
        Work::Asking(asking) if task.turn == turn => Ok(asking),
        Work::Asking(_) | Work::Fresh | Work::Boundary | Work::Acting(_) | Work::Answered { .. } => {
            Err(Refusal::NoTurn)
        }
    }
}

/// Why a budget has no room for a question.
enum Short {
    /// Others have set it aside, and give it back when they are answered, but for what they used.
    Held,
    /// It is spent.
    Spent,
}

impl Short {
    fn refusal(self, task: TaskId) -> Refusal {
        match self {
            Short::Held => Refusal::BudgetHeld { task },
            Short::Spent => Refusal::Budget { task },
        }
    }
}

/// How long an answer one account has room for. What is only set aside by others is waited for, where there would be
/// room for the answer that is expected then.
fn fit(ledger: &Ledger, quote: Quote, spare: Cost) -> Result<u32, Short> {
    let fits = quote.fit(ledger.room().less(spare));
    if fits.is_some_and(|fits| fits >= quote.expected) {
        return fits.ok_or(Short::Spent);
    }
    let freed =
        if ledger.reserved == Cost::ZERO { None } else { quote.fit(ledger.budget.less(ledger.spent).less(spare)) };
    match (fits, freed) {
        (fits, Some(freed)) if fits.is_none_or(|fits| fits < freed) => Err(Short::Held),
        (Some(fits), _) => Ok(fits),
        (None, _) => Err(Short::Spent),
    }
}

/// Whether the model that answered is the one that was asked: its name, its provider left out, alone or with a
/// version behind it.
fn is_same_model(asked: &str, answered: &str) -> bool {
    let bare = |name: &str| name.rsplit('/').next().unwrap_or(name).to_ascii_lowercase();
    let (asked, answered) = (bare(asked), bare(answered));
    answered.strip_prefix(&asked).is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', ':', '@', '.']))
}

/// What a person was asked about, or what has begun, is not changed any more.
fn expect_untouched(task: &Task, turn: Turn, call: &CallId) -> Result<(), Refusal> {
    match task.work.call(call) {
        Some(CallPhase::Pending) if task.turn == turn => Ok(()),
        Some(_) | None => Err(Refusal::Call(call.clone())),
    }
}

/// A call starts once, and not against a decision.
fn expect_startable(task: &Task, turn: Turn, call: &CallId) -> Result<(), Refusal> {
    match task.work.call(call) {
        Some(CallPhase::Pending | CallPhase::Decided(Decided { decision: Decision::Allow { .. }, .. }))
            if task.turn == turn =>
        {
            Ok(())
        }
        Some(_) | None => Err(Refusal::Call(call.clone())),
    }
}

/// A call can be answered unless it was, or it still waits for tasks. What it still asks is withdrawn with it.
fn expect_answerable(task: &Task, turn: Turn, call: &CallId) -> Result<(), Refusal> {
    match task.work.call(call) {
        Some(
            CallPhase::Pending
            | CallPhase::Started
            | CallPhase::Waited { .. }
            | CallPhase::Asking(_)
            | CallPhase::Decided(_),
        ) if task.turn == turn => Ok(()),
        Some(
            CallPhase::Pending
            | CallPhase::Started
            | CallPhase::Waited { .. }
            | CallPhase::Asking(_)
            | CallPhase::Decided(_)
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
