//! The turn: wait for the governor, reserve the cost, ask the model.

use std::sync::Arc;

use hooks::HookEventData;
use kernel::{BoundaryPoint, FailedCallCharge, InputRefusal, Parking, RunEnding, RunUpdate};
use model::{ModelRequest, ToolCallPolicy};
use protocol::{Compaction, FailKind, Hinted as _, LimitKind, ParkReason, Refusal, Turn, TurnQuote, WrapUpReason};

use tokio::sync::watch;

use super::answer_handling::ending_of;
use super::call_ids;
use super::context_window::{self, WindowCheck};
use super::model_call::{AnswerReservation, AnswerSink, ModelCallOutcome, TurnBudget, ask_model};
use super::quote;
use super::retry::RetryState;
use super::run::{InterruptibleOutcome, StepOutcome};
use super::{AgentRun, Deadline};
use crate::conversation::Conversation;
use crate::governor::PermitOutcome;
use crate::run_requests::{AdmissionReply, AdmissionRequest, DayShare, RequestPermit};
use crate::supervisor::InputRejection;

/// How the next turn began.
enum TurnStart {
    Turn(Turn),
    /// The run needs a slot first.
    NoSlot,
    /// Requests of other runs have reserved the rest of the budget; wait until one is settled.
    BudgetReserved(watch::Receiver<u64>),
    /// There is no next turn.
    NoTurn(RunEnding),
}

/// Whether the model has changed since the last request.
enum ModelRefresh {
    Unchanged,
    Changed,
}

impl AgentRun {
    /// Asks the model until it answers, and handles the answer.
    pub(super) async fn take_turn(&mut self) -> Result<StepOutcome, InputRejection> {
        let mut tries = RetryState::for_model(self.agent.model.facts());
        let mut waits_for_budget = false;
        loop {
            match self.refresh_model().await {
                Ok(ModelRefresh::Unchanged) => {}
                Ok(ModelRefresh::Changed) => tries = RetryState::for_model(self.agent.model.facts()),
                Err(refusal) => {
                    let (kind, message) = (FailKind::Model, refusal.in_one_line());
                    return self.end(RunEnding::Failed { kind, message }).await;
                }
            }
            self.agent.model.refresh_facts().await;
            let mut permit = match self.await_admission().await? {
                Ok(permit) => permit,
                Err(step) => return Ok(step),
            };
            let day_share = match self.reserve_day_share().await? {
                Ok(day_share) => day_share,
                Err(step) => return Ok(step),
            };
            let turn = match self.begin_turn().await? {
                TurnStart::Turn(turn) => turn,
                TurnStart::NoSlot => {
                    // A run with a slot may need this permit or this part of the daily budget.
                    drop((permit, day_share));
                    self.wait_for_slot().await;
                    continue;
                }
                TurnStart::BudgetReserved(settled) => {
                    drop((permit, day_share));
                    // Report once why nothing happens.
                    if !std::mem::replace(&mut waits_for_budget, true) {
                        self.report(RunUpdate::AwaitsBudget).await?;
                    }
                    self.wait_for_budget(settled).await;
                    continue;
                }
                TurnStart::NoTurn(ending) => return self.end(ending).await,
            };
            let request = self.next_request(tries.next_attempt());
            let (session, model) = (Arc::clone(&self.link.session), Arc::clone(&self.agent.model));
            let permit_ref = &mut permit;
            let (pulse, streamed) = (self.link.heartbeat.clone(), self.streamed.clone());
            let answer_reservation = self.answer_reservation(turn, &day_share);
            let outcome = async move {
                let sink = AnswerSink {
                    session: &*session,
                    turn,
                    heartbeat: pulse,
                    streamed,
                    reservation: answer_reservation,
                };
                ask_model(&*model, request, sink, permit_ref).await
            };
            let Some(outcome) = self.before_deadline(Conversation::is_awaiting_answer, outcome).await else {
                return self.abandon_turn(turn).await;
            };
            let (outcome, permit) = match outcome {
                InterruptibleOutcome::Interrupted => return Ok(StepOutcome::Continue),
                InterruptibleOutcome::Finished(outcome) => (outcome?, permit),
            };
            match (outcome, permit) {
                (ModelCallOutcome::Answered(mut reply), permit) => {
                    permit.settle(PermitOutcome::Answered);
                    self.settle_day(day_share, reply.usage);
                    call_ids::make_call_ids_unique(self.conversation.messages(), &mut reply.content);
                    return self.handle_answer(turn, reply).await;
                }
                (ModelCallOutcome::OverBudget, permit) => {
                    permit.settle(PermitOutcome::Answered);
                    if let InterruptibleOutcome::Interrupted = self.cut_off_answer(turn).await? {
                        return Ok(StepOutcome::Continue);
                    }
                }
                (ModelCallOutcome::Failed(error), permit) => {
                    permit.settle(PermitOutcome::Failed(error.fault));
                    if let FailedCallCharge::Nothing = self.failed_call_charge(&error) {
                        day_share.settle(0);
                    }
                    if let Some(step) = self.handle_model_failure(turn, error, &mut tries).await? {
                        return Ok(step);
                    }
                }
            }
        }
    }

    /// The reservation for the answer to this turn; none if nothing limits its cost.
    fn answer_reservation<'a>(&self, turn: Turn, day_share: &'a DayShare) -> Option<AnswerReservation<'a>> {
        day_share.mark_sent(self.conversation.reserved().micros);
        let session = Arc::clone(&self.link.session);
        let budget = self.profile.is_budgeted.then_some(TurnBudget { session, turn });
        let (price, output) = (self.agent.model.facts().price.unwrap_or_default(), self.conversation.expected());
        (budget.is_some() || (day_share.is_held() && self.workplace.facts.day_budget.is_some()))
            .then_some(AnswerReservation { budget, day_share, price, output })
    }

    /// Switches to the session's model if that has changed. The error is for the user.
    async fn refresh_model(&mut self) -> Result<ModelRefresh, Refusal> {
        self.profile = self.session().profile().await?;
        if self.profile.model == self.agent.model_spec {
            return Ok(ModelRefresh::Unchanged);
        }
        let workspace = Arc::clone(&self.agent.task_workspace);
        self.agent = self
            .catalog
            .prepared_agent(&self.workplace.facts, &self.profile, workspace)
            .map_err(|error| error.refusal())?;
        Ok(ModelRefresh::Changed)
    }

    /// Waits until the governor admits the request; parks if that takes long.
    async fn await_admission(&mut self) -> Result<Result<RequestPermit, StepOutcome>, InputRejection> {
        let request = AdmissionRequest::for_model(self.agent.model.facts());
        let session = Arc::clone(&self.link.session);
        let _paused = self.link.heartbeat.pause();
        match self.ask_deadline().limit(session.admit_request(request)).await {
            Some(AdmissionReply::Admitted(hold)) => Ok(Ok(RequestPermit::new(session, hold))),
            Some(AdmissionReply::Park(until)) => {
                let parking = Parking { until: Some(until), why: ParkReason::Quota };
                self.report(RunUpdate::Park(parking)).await.map(|()| Err(StepOutcome::Stop))
            }
            None => self.too_late_to_ask().await.map(Err),
        }
    }

    /// The next model request.
    fn next_request(&self, attempt: u32) -> ModelRequest {
        let conversation = &self.conversation;
        ModelRequest {
            agent: conversation.agent().into(),
            path: self.profile.path.to_string(),
            requested_at: self.workplace.facts.clock.now(),
            turn: conversation.answers() + 1,
            attempt,
            system: Arc::clone(&self.agent.system_prompt),
            messages: conversation.messages().clone(),
            tools: self.agent.visible_tools(conversation.added_tools()),
            call_policy: if conversation.wrap_up().is_some() {
                ToolCallPolicy::Forbidden
            } else {
                ToolCallPolicy::Allowed
            },
            max_output_tokens: conversation.max_output(),
            effort: self.agent.effort,
        }
    }

    /// The report that reserves and begins the next turn.
    fn turn_begun_report(&self) -> RunUpdate {
        RunUpdate::TurnBegun { model: self.agent.model.name().to_owned(), quote: self.quote() }
    }

    /// What the next request may use.
    pub(super) fn quote(&self) -> TurnQuote {
        let quote = match self.conversation.wrap_up() {
            None => quote::next_turn_quote(self.session(), &self.agent, &self.conversation),
            Some(_) => quote::last_turn_quote(self.session(), &self.agent, &self.conversation),
        };
        context_window::limit_output(&self.agent, quote)
    }

    /// Begins the next turn, or returns why there is none.
    async fn begin_turn(&mut self) -> Result<TurnStart, InputRejection> {
        loop {
            match self.conversation.wrap_up().filter(|_| self.deadline.is_over()) {
                Some(why) => return Ok(TurnStart::NoTurn(ending_of(why))),
                None if self.stopping => self.wrap_up(WrapUpReason::Stop).await?,
                None if self.deadline.is_over() => self.wrap_up(WrapUpReason::Time).await?,
                None if self.conversation.is_stuck() => self.wrap_up_without_change().await?,
                None => {}
            }
            if let Err(ending) = self.fit_window().await? {
                return Ok(TurnStart::NoTurn(ending));
            }
            let settled = self.session().settled();
            self.streamed.set(0);
            self.session().reset_answer();
            let refusal = match self.read_mail_and_begin().await? {
                Ok(()) => {
                    self.catch_up();
                    return Ok(TurnStart::Turn(self.conversation.turn()));
                }
                Err(InputRejection::Refused(refusal)) => refusal,
                Err(rejected) => return Err(rejected),
            };
            self.catch_up();
            match (refusal, self.conversation.wrap_up()) {
                (InputRefusal::NoSlot, _) => return Ok(TurnStart::NoSlot),
                (InputRefusal::BudgetHeld { .. }, _) => return Ok(TurnStart::BudgetReserved(settled)),
                // An activation without a turn has nothing to sum up.
                (InputRefusal::Turns { .. }, None) if self.session().progress().await?.turns > 0 => {
                    self.wrap_up(WrapUpReason::Turns).await?
                }
                (InputRefusal::Turns { .. }, _) => return Ok(TurnStart::NoTurn(RunEnding::TimedOut(LimitKind::Turns))),
                (InputRefusal::ObjectiveOver { why }, None) => self.wrap_up(why).await?,
                (InputRefusal::Budget { .. }, None) => self.wrap_up(WrapUpReason::Budget).await?,
                (InputRefusal::Budget { .. }, Some(why)) if why.counts_as_completed() => {
                    return Ok(TurnStart::NoTurn(RunEnding::BudgetExhausted));
                }
                // `WrappedUp`: an interrupt came between the answer of the last turn and the end of the activation.
                (InputRefusal::Budget { .. } | InputRefusal::WrappedUp, Some(why)) => {
                    return Ok(TurnStart::NoTurn(ending_of(why)));
                }
                (refusal, _) => return Err(refusal.into()),
            }
        }
    }

    /// Waits until another request is settled, the time is up, or the run is asked to stop.
    async fn wait_for_budget(&mut self, mut settled: watch::Receiver<u64>) {
        let deadline = self.deadline;
        let _paused = self.link.heartbeat.pause();
        let waiting = async {
            loop {
                tokio::select! {
                    biased;
                    // If the supervisor is gone, the next report fails.
                    _settled = settled.changed() => return,
                    message = self.link.messages.next() => match message {
                        Some(message) => self.apply_message(message),
                        None => return,
                    },
                }
                if self.stopping {
                    return;
                }
            }
        };
        // In time or not, the caller checks again.
        let _in_time = deadline.limit(waiting).await;
    }

    /// Reads the mail and begins the turn that answers it.
    async fn read_mail_and_begin(&mut self) -> Result<Result<(), InputRejection>, InputRejection> {
        let boundary = RunUpdate::Boundary(BoundaryPoint::BetweenTurns);
        if !self.profile.is_budgeted {
            // One commit for both.
            let [mail_read, begun] = self.session().report_both(boundary, self.turn_begun_report()).await;
            return mail_read.map(|()| begun);
        }
        // The reservation must include the mail, which is complete only after it was read.
        self.report(boundary).await?;
        self.catch_up();
        Ok(self.report(self.turn_begun_report()).await)
    }

    /// Compacts the conversation if it does not fit the model's window.
    async fn fit_window(&mut self) -> Result<Result<(), RunEnding>, InputRejection> {
        match self.check_window().await? {
            WindowCheck::Fits => Ok(Ok(())),
            WindowCheck::Compact(compaction) => {
                // Hooks cannot prevent it: the conversation does not fit.
                let _verdict = self.session().run_hooks(HookEventData::Compact(compaction.cause)).await;
                self.compact(compaction).await.map(Ok)
            }
            WindowCheck::CannotFit(message) => {
                // Read unread mail first: it would wake the task again, which would end the same way.
                self.report(RunUpdate::Boundary(BoundaryPoint::BetweenTurns)).await?;
                Ok(Err(RunEnding::Failed { kind: FailKind::Model, message }))
            }
        }
    }

    async fn check_window(&self) -> Result<WindowCheck, InputRejection> {
        context_window::check_window(self.session(), (&self.profile, &self.agent), &self.conversation).await
    }

    pub(super) async fn compact(&mut self, compaction: Compaction) -> Result<(), InputRejection> {
        self.report(RunUpdate::Compacted(compaction)).await?;
        self.catch_up();
        Ok(())
    }

    /// Makes the next turn the last.
    pub(super) async fn wrap_up(&mut self, why: WrapUpReason) -> Result<(), InputRejection> {
        self.report(RunUpdate::WrapUp(why)).await?;
        if !why.counts_as_completed() {
            self.deadline = Deadline::for_last_turn();
        }
        self.catch_up();
        Ok(())
    }

    /// Makes the next turn the last because nothing changes, unless other tasks are still at work.
    async fn wrap_up_without_change(&mut self) -> Result<(), InputRejection> {
        match self.wrap_up(WrapUpReason::NoChange).await {
            Err(InputRejection::Refused(InputRefusal::RootNotDue)) => Ok(()),
            result => result,
        }
    }
}
