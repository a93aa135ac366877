//! Reports from runs.

use std::collections::BTreeSet;

use protocol::{
    AskDecision, AutopilotStop, CallId, CancelBy, CompletionPolicy, ContentBlock, Cost, Event, LimitKind, MailBody,
    MailDelivery, Principal, QuotedTokens, RunId, StopBlocker, TaskId, TaskOutcome, Turn, TurnQuote, WrapUpReason,
};

use super::DecisionDraft;
use super::cancel::AfterActivation;
use crate::{
    ActivationWork, BudgetLedger, CallPhase, CallWait, DecidedAsk, FailedCallCharge, InputRefusal, KernelTask,
    LastTurn, ModelCall, Parking, RunEnding, RunUpdate, SlotStatus, TaskPhase, call_answers,
};

impl DecisionDraft<'_> {
    pub(super) fn report(&mut self, run: RunId, report: RunUpdate) -> Result<(), InputRefusal> {
        self.apply_report(run, report)?;
        self.note_activity(run.task)
    }

    fn apply_report(&mut self, run: RunId, report: RunUpdate) -> Result<(), InputRefusal> {
        let task = self.task_of_run(run)?;
        match report {
            RunUpdate::Boundary(point) => self.deliver_mail(run, point),
            RunUpdate::TurnBegun { model, quote } => self.begin_turn(run, model, quote),
            RunUpdate::TurnAnswered { turn, content, stop, usage, cost, model } => {
                let asked = &expect_turn(task, turn)?.model;
                expect_distinct_calls(&content)?;
                let differs = (!is_same_model(asked, &model)).then(|| Event::ModelDiffered {
                    turn,
                    asked: asked.clone(),
                    answered: model.clone(),
                });
                self.record(run.task, Event::TurnAnswered { turn, content, stop, usage, cost, model })?;
                differs.map_or(Ok(()), |event| self.record(run.task, event))
            }
            RunUpdate::TurnFailed { turn, fault, message, charge, retry } => {
                let model_call = expect_turn(task, turn)?;
                let cost = match charge {
                    FailedCallCharge::Nothing => Cost::ZERO,
                    FailedCallCharge::Used { output } => model_call.cost(output),
                };
                self.record(run.task, Event::TurnFailed { turn, fault, message, cost, retry })
            }
            RunUpdate::RaiseReservation { turn, output } => self.raise_reservation(run, turn, output),
            RunUpdate::AwaitsBudget => {
                if !task.work.is_between_calls() {
                    return Err(InputRefusal::TurnInProgress);
                }
                self.record(run.task, Event::BudgetAwaited)
            }
            RunUpdate::WrapUp(why) => self.wrap_up(run, why),
            RunUpdate::Compacted(compaction) => {
                if !task.work.is_between_calls() {
                    return Err(InputRefusal::TurnInProgress);
                }
                self.record(run.task, Event::Compacted(compaction))
            }
            RunUpdate::CallRewritten { turn, call, input } => {
                expect_pending_call(task, turn, &call)?;
                self.record(run.task, Event::CallRewritten { call, input })
            }
            RunUpdate::CallStarted { turn, call } => {
                expect_startable(task, turn, &call)?;
                self.record(run.task, Event::CallStarted { call })
            }
            RunUpdate::CallProgressed { turn, call, tool, progress } => {
                expect_started_call(task, turn, &call)?;
                self.record(run.task, Event::CallProgressed { call, tool, progress })
            }
            RunUpdate::CallAnswered { turn, call, answer, evidence } => {
                expect_answerable(task, turn, &call)?;
                self.record(run.task, Event::CallAnswered { call, answer, evidence })
            }
            RunUpdate::CallsOutOfTime { turn } => {
                if task.turn != turn {
                    return Err(InputRefusal::WrongTurn);
                }
                self.answer_open_calls(run.task, &call_answers::out_of_time())
            }
            RunUpdate::Wait { turn, call, on, mode, until } => {
                self.begin_wait(run, turn, call, CallWait { awaited: on, mode, until })
            }
            RunUpdate::Ask { turn, ask } => self.ask(run, turn, ask),
            RunUpdate::ManualWaitOver { turn, call } => self.end_manual_wait(run, turn, call),
            RunUpdate::ItemChanged { list, item } => self.record(run.task, Event::ItemChanged { list, item }),
            RunUpdate::Objective { turn, call, completion } => self.report_objective(run, turn, &call, completion),
            RunUpdate::McpReported(report) => self.record(run.task, Event::McpTaskReported { report }),
            RunUpdate::Intent(intent) => self.record(run.task, Event::IntentReported { intent }),
            RunUpdate::PromptSuggested(text) => self.record(run.task, Event::PromptSuggested { text }),
            RunUpdate::ResultRead { task, activation } => self.expire_read_result(run, task, activation),
            RunUpdate::ToolsLoaded { tools, descriptions } => {
                self.record(run.task, Event::ToolsLoaded { tools, descriptions })
            }
            RunUpdate::StartHooksRan(context) => self.record_start_hooks(run, context),
            RunUpdate::StopBlocked { by, reason } => self.block_stop(run, by, reason),
            RunUpdate::Park(parking) => self.park(run, parking),
            RunUpdate::WorkCheckedOut { path, base } => self.record(run.task, Event::WorkCheckedOut { path, base }),
            RunUpdate::WorkSealed { commit, files } => self.record(run.task, Event::WorkSealed { commit, files }),
            RunUpdate::Ended { ending, text } => self.end_activation(run, ending, text),
        }
    }

    fn begin_turn(&mut self, run: RunId, model: String, quote: TurnQuote) -> Result<(), InputRefusal> {
        let task = self.task_of_run(run)?;
        if !task.work.is_between_calls() {
            return Err(InputRefusal::TurnInProgress);
        }
        if task.phase != TaskPhase::Running(SlotStatus::Holding) {
            return Err(InputRefusal::NoSlot);
        }
        let last_turn_reserve = match task.last_turn {
            None => quote.last_turn_reserve,
            Some(LastTurn::Due(_)) => Cost::ZERO,
            Some(LastTurn::Taken(_)) => return Err(InputRefusal::WrappedUp),
        };
        if let Some(limit) = task.max_turns.filter(|limit| task.last_turn.is_none() && task.turns >= *limit) {
            return Err(InputRefusal::Turns { limit });
        }
        if let Some(limit) = self.state.max_turns.filter(|limit| task.last_turn.is_none() && self.state.turns >= *limit)
        {
            return Err(InputRefusal::Turns { limit });
        }
        self.expect_turn_allowed(task)?;
        let turn = Turn(task.turn.0 + 1);
        let TurnQuote { input, estimated, .. } = quote;
        let quote = self.state.calibration.adjust(&model, quote);
        let (mut granted, mut newly_low) = (quote.max_output, Vec::new());
        for ancestor in self.state.lineage(run.task) {
            granted = granted.min(
                fitting_output(&ancestor.ledger, quote, last_turn_reserve)
                    .map_err(|shortage| shortage.refusal(ancestor.id))?,
            );
            if ancestor.ledger.is_low() && !ancestor.has_low_budget_warning {
                newly_low.push((ancestor.id, ancestor.ledger));
            }
        }
        for (id, BudgetLedger { spent, budget, .. }) in newly_low {
            self.record(id, Event::BudgetLow { spent, budget })?;
        }
        let output = granted.min(quote.expected_output.max(quote.min_output));
        let (reserved, price, max_output) = (quote.cost(output), quote.price, Some(granted));
        let quoted = QuotedTokens { input, estimated, output };
        self.record(run.task, Event::TurnBegun { turn, model, reserved, price, max_output, quoted })
    }

    /// Raises the reservation for an answer that is longer than expected.
    fn raise_reservation(&mut self, run: RunId, turn: Turn, output: u32) -> Result<(), InputRefusal> {
        let task = self.task_of_run(run)?;
        let model_call = expect_turn(task, turn)?;
        let output = output.min(model_call.max_output);
        if output <= model_call.quoted.output {
            return Ok(());
        }
        let reserved = model_call.cost(output);
        let more = reserved.minus(model_call.reserved);
        for ancestor in self.state.lineage(run.task) {
            if !ancestor.ledger.room().allows(more) {
                let has_other_reservations = ancestor.ledger.reserved != model_call.reserved;
                let shortage = if has_other_reservations { BudgetShortage::Held } else { BudgetShortage::Spent };
                return Err(shortage.refusal(ancestor.id));
            }
        }
        self.record(run.task, Event::TurnReservationRaised { turn, reserved, output })
    }

    /// Makes the next turn the activation's last.
    fn wrap_up(&mut self, run: RunId, why: WrapUpReason) -> Result<(), InputRefusal> {
        let task = self.task_of_run(run)?;
        if !task.work.is_between_calls() {
            return Err(InputRefusal::TurnInProgress);
        }
        if task.last_turn.is_some() {
            return Err(InputRefusal::WrappedUp);
        }
        match why {
            WrapUpReason::Budget | WrapUpReason::Time | WrapUpReason::Turns | WrapUpReason::Stop => {}
            WrapUpReason::Reported
                if self.state.root == Some(run.task) && self.state.root_control.last_turn_reason == Some(why) => {}
            WrapUpReason::Reported => return Err(InputRefusal::RootNotDue),
            WrapUpReason::NoChange => {
                self.expect_alone_on_autopilot(run.task)?;
                self.stop_autopilot(run.task, AutopilotStop::NoChange)?;
            }
        }
        self.record(run.task, Event::WrapUpBegan { why })
    }

    /// Blocks the end of a run: the reason becomes its next mail.
    fn block_stop(&mut self, run: RunId, by: StopBlocker, reason: String) -> Result<(), InputRefusal> {
        let task = self.task_of_run(run)?;
        let is_after_closing_turn = has_taken_closing_turn(task);
        if !is_after_closing_turn || !task.work.is_between_calls() {
            expect_answer(task)?;
        }
        let (blocks, cap) = match by {
            StopBlocker::Hook => (task.stop_blocks, self.limits.max_stop_blocks),
            StopBlocker::Expects => (task.expectation_retries, self.limits.max_expectation_retries),
        };
        if blocks >= cap || task.last_turn.is_some() && !is_after_closing_turn || task.cancel.is_some() {
            return Err(InputRefusal::StopBlockLimit { cap });
        }
        self.record(run.task, Event::StopBlocked { by, reason: reason.clone() })?;
        self.admit_mail(run.task, Principal::Runtime, MailDelivery::Steer, MailBody::text(reason))
    }

    fn park(&mut self, run: RunId, parking: Parking) -> Result<(), InputRefusal> {
        let task = self.task_of_run(run)?;
        if !task.work.is_between_calls() {
            return Err(InputRefusal::TurnInProgress);
        }
        if task.phase != TaskPhase::Running(SlotStatus::Holding) {
            return Err(InputRefusal::NoSlot);
        }
        self.record(run.task, Event::TaskParked { until_at: parking.until, why: parking.why })
    }

    fn end_activation(&mut self, run: RunId, ending: RunEnding, text: String) -> Result<(), InputRefusal> {
        let task = self.task_of_run(run)?;
        let after = match (&ending, task.on_complete, task.cancel) {
            (RunEnding::Completed, CompletionPolicy::Idle, None) => AfterActivation::Idle,
            (RunEnding::Completed, _, _)
            | (
                RunEnding::Failed { .. }
                | RunEnding::TimedOut(_)
                | RunEnding::BudgetExhausted
                | RunEnding::CancelledByServer
                | RunEnding::Lost,
                _,
                _,
            ) => AfterActivation::Finish,
        };
        let outcome = match (task.cancel, ending) {
            (Some((by, _)), _) => TaskOutcome::Cancelled { by },
            (None, RunEnding::Completed) if task.last_turn.is_some() => outcome_after_last_turn(task)?,
            (None, RunEnding::Completed) => {
                if !self.may_idle_with_results(task) {
                    expect_complete(task)?;
                }
                TaskOutcome::Completed
            }
            (None, RunEnding::Failed { kind, message }) => TaskOutcome::Failed { kind, message },
            (None, RunEnding::TimedOut(limit)) => TaskOutcome::TimedOut { limit },
            (None, RunEnding::BudgetExhausted) => TaskOutcome::BudgetExhausted,
            (None, RunEnding::CancelledByServer) => TaskOutcome::Cancelled { by: CancelBy::Server },
            (None, RunEnding::Lost) => TaskOutcome::Lost,
        };
        self.close(run.task, outcome, text, after)
    }
}

/// An agent is complete with a final message, no open call and no unread mail. A command needs none of this.
fn expect_complete(task: &KernelTask) -> Result<(), InputRefusal> {
    if !task.kind.completes_with_answer() {
        return Ok(());
    }
    expect_answer(task)?;
    if task.inbox.is_empty() { Ok(()) } else { Err(InputRefusal::MailWaiting) }
}

/// Expects a final message from the model, and no open calls.
fn expect_answer(task: &KernelTask) -> Result<(), InputRefusal> {
    match task.work {
        ActivationWork::Answered { text: true } => Ok(()),
        ActivationWork::AwaitingModel(_) | ActivationWork::CallingTools(_) => Err(InputRefusal::TurnInProgress),
        ActivationWork::NotBegun | ActivationWork::BetweenTurns | ActivationWork::Answered { text: false } => {
            Err(InputRefusal::NoFinalMessage)
        }
    }
}

/// Whether the activation was complete and has taken its last turn.
fn has_taken_closing_turn(task: &KernelTask) -> bool {
    matches!(task.last_turn, Some(LastTurn::Taken(why)) if why.counts_as_completed())
}

/// The outcome of an activation that has taken its last turn: it was cut short, unless it was complete before that.
fn outcome_after_last_turn(task: &KernelTask) -> Result<TaskOutcome, InputRefusal> {
    match task.last_turn {
        Some(LastTurn::Taken(WrapUpReason::Reported | WrapUpReason::NoChange)) if !task.work.is_between_calls() => {
            Err(InputRefusal::TurnInProgress)
        }
        Some(LastTurn::Taken(WrapUpReason::Reported | WrapUpReason::NoChange)) if !task.inbox.is_empty() => {
            Err(InputRefusal::MailWaiting)
        }
        Some(LastTurn::Taken(WrapUpReason::Reported | WrapUpReason::NoChange)) => Ok(TaskOutcome::Completed),
        Some(LastTurn::Taken(WrapUpReason::Budget)) => Ok(TaskOutcome::BudgetExhausted),
        Some(LastTurn::Taken(WrapUpReason::Turns)) => Ok(TaskOutcome::TimedOut { limit: LimitKind::Turns }),
        Some(LastTurn::Taken(WrapUpReason::Time | WrapUpReason::Stop)) => {
            Ok(TaskOutcome::TimedOut { limit: LimitKind::Time })
        }
        Some(LastTurn::Due(_)) | None => Err(InputRefusal::NoFinalMessage),
    }
}

/// The current model call, if it is this turn.
fn expect_turn(task: &KernelTask, turn: Turn) -> Result<&ModelCall, InputRefusal> {
    match &task.work {
        ActivationWork::AwaitingModel(asking) if task.turn == turn => Ok(asking),
        ActivationWork::AwaitingModel(_)
        | ActivationWork::NotBegun
        | ActivationWork::BetweenTurns
        | ActivationWork::CallingTools(_)
        | ActivationWork::Answered { .. } => Err(InputRefusal::WrongTurn),
    }
}

/// Why a budget has no room for a request.
enum BudgetShortage {
    /// It is reserved for other requests, which release what they do not use.
    Held,
    /// It is spent.
    Spent,
}

impl BudgetShortage {
    fn refusal(self, task: TaskId) -> InputRefusal {
        match self {
            BudgetShortage::Held => InputRefusal::BudgetHeld { task },
            BudgetShortage::Spent => InputRefusal::Budget { task },
        }
    }
}

/// How long an answer, in tokens, one ledger has room for. If the expected answer does not fit only because of the
/// reservations of other requests, the request waits for them.
fn fitting_output(ledger: &BudgetLedger, quote: TurnQuote, last_turn_reserve: Cost) -> Result<u32, BudgetShortage> {
    let room_now = quote.fitting_output(ledger.room().minus(last_turn_reserve));
    if room_now.is_some_and(|room_now| room_now >= quote.expected_output) {
        return room_now.ok_or(BudgetShortage::Spent);
    }
    let room_later = if ledger.reserved == Cost::ZERO {
        None
    } else {
        quote.fitting_output(ledger.budget.minus(ledger.spent).minus(last_turn_reserve))
    };
    match (room_now, room_later) {
        (room_now, Some(room_later)) if room_now.is_none_or(|room_now| room_now < room_later) => {
            Err(BudgetShortage::Held)
        }
        (Some(room_now), _) => Ok(room_now),
        (None, _) => Err(BudgetShortage::Spent),
    }
}

/// Whether the model that answered is the requested one: the same name without the provider, optionally with a
/// version suffix.
fn is_same_model(asked: &str, answered: &str) -> bool {
    let bare = |name: &str| name.rsplit('/').next().unwrap_or(name).to_ascii_lowercase();
    let (asked, answered) = (bare(asked), bare(answered));
    answered.strip_prefix(&asked).is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', ':', '@', '.']))
}

/// A call can be rewritten only before it is asked about or started.
fn expect_pending_call(task: &KernelTask, turn: Turn, call: &CallId) -> Result<(), InputRefusal> {
    match task.work.call(call) {
        Some(CallPhase::Pending) if task.turn == turn => Ok(()),
        Some(_) | None => Err(InputRefusal::WrongCallPhase(call.clone())),
    }
}

/// A call starts once, and only if it was not denied.
fn expect_startable(task: &KernelTask, turn: Turn, call: &CallId) -> Result<(), InputRefusal> {
    match task.work.call(call) {
        Some(CallPhase::Pending | CallPhase::Decided(DecidedAsk { decision: AskDecision::Allow { .. }, .. }))
            if task.turn == turn =>
        {
            Ok(())
        }
        Some(_) | None => Err(InputRefusal::WrongCallPhase(call.clone())),
    }
}

fn expect_started_call(task: &KernelTask, turn: Turn, call: &CallId) -> Result<(), InputRefusal> {
    match task.work.call(call) {
        Some(CallPhase::Started) if task.turn == turn => Ok(()),
        Some(_) | None => Err(InputRefusal::WrongCallPhase(call.clone())),
    }
}

/// A call can be answered once, and not while it waits for tasks. Its open ask is withdrawn with it.
fn expect_answerable(task: &KernelTask, turn: Turn, call: &CallId) -> Result<(), InputRefusal> {
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
        | None => Err(InputRefusal::WrongCallPhase(call.clone())),
    }
}

fn expect_distinct_calls(content: &[ContentBlock]) -> Result<(), InputRefusal> {
    let mut seen = BTreeSet::new();
    for block in content {
        match block {
            ContentBlock::Call(call) if !seen.insert(&call.id) => {
                return Err(InputRefusal::DuplicateCall(call.id.clone()));
            }
            ContentBlock::Call(_)
            | ContentBlock::Text { .. }
            | ContentBlock::Thinking { .. }
            | ContentBlock::Opaque { .. } => {}
        }
    }
    Ok(())
}
