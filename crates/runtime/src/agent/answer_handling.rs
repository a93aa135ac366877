//! What follows an answer or a failed request: the next step, another try, or the end of the activation.

use kernel::{BoundaryPoint, FailedCallCharge, InputRefusal, Parking, RunEnding, RunUpdate};
use model::{ModelError, ModelReply};
use protocol::{ContentBlock, Cost, FailKind, LimitKind, ModelFault, ParkReason, StopReason, Turn, WrapUpReason};

use super::AgentRun;
use super::call_normalization;
use super::context_window;
use super::early_start::AnswerFollowUp;
use super::retry::{RetryDecision, RetryState};
use super::run::{InterruptibleOutcome, StepOutcome};
use crate::conversation::Conversation;
use crate::prompt;
use crate::run_requests::RunInput;
use crate::supervisor::InputRejection;

impl AgentRun {
    pub(super) async fn handle_answer(&mut self, turn: Turn, reply: ModelReply) -> Result<StepOutcome, InputRejection> {
        let ModelReply { mut content, stop, usage, model } = reply;
        call_normalization::normalize_calls(&self.agent, &mut content);
        let has_calls = content.iter().any(|block| matches!(block, ContentBlock::Call(_)));
        let price = self.agent.model.facts().price;
        let cost = match usage.total() {
            // The provider reported no usage, so charge what was reserved.
            0 => self.conversation.reserved(),
            tokens => Cost { tokens, micros: price.map_or(0, |price| price.cost(usage)) },
        };
        let follow_up = self.plan_follow_up(&content, stop).await;
        let answer = RunUpdate::TurnAnswered { turn, content, stop, usage, cost, model };
        let (answer_result, follow_up_result) = self.report_with_follow_up(turn, answer, &follow_up).await;
        match (self.handle_report_result(Conversation::is_awaiting_answer, answer_result).await?, follow_up) {
            (InterruptibleOutcome::Finished(()), AnswerFollowUp::EndActivation(_)) if follow_up_result.is_ok() => {
                Ok(StepOutcome::Stop)
            }
            (InterruptibleOutcome::Finished(()), AnswerFollowUp::StartCall(early)) => {
                self.early_call = follow_up_result.is_ok().then_some(early);
                Ok(StepOutcome::Continue)
            }
            (InterruptibleOutcome::Finished(()), AnswerFollowUp::EndActivation(_) | AnswerFollowUp::Undecided)
                if !has_calls =>
            {
                self.end_after_answer(stop).await
            }
            (
                InterruptibleOutcome::Finished(()) | InterruptibleOutcome::Interrupted,
                AnswerFollowUp::StartCall(_) | AnswerFollowUp::EndActivation(_) | AnswerFollowUp::Undecided,
            ) => Ok(StepOutcome::Continue),
        }
    }

    /// Ends the activation after the model's final answer.
    pub(super) async fn end_after_answer(&mut self, stop: StopReason) -> Result<StepOutcome, InputRejection> {
        self.catch_up();
        match (stop, self.conversation.wrap_up()) {
            (_, Some(why)) if why.counts_as_completed() => self.complete_unless_mail().await,
            (_, Some(why)) => self.end(ending_of(why)).await,
            (StopReason::Length, None) => {
                let message = "the model reached its output limit before it was done".into();
                self.end(RunEnding::Failed { kind: FailKind::NoAnswer, message }).await
            }
            (StopReason::End | StopReason::Calls | StopReason::Refusal, None) => self.complete_unless_mail().await,
        }
    }

    /// Ends the activation, unless unread mail has arrived.
    pub(super) async fn complete_unless_mail(&mut self) -> Result<StepOutcome, InputRejection> {
        self.report(RunUpdate::Boundary(BoundaryPoint::End)).await?;
        self.catch_up();
        if matches!(self.conversation.messages().last(), Some(model::ModelMessage::User { .. })) {
            return Ok(StepOutcome::Continue);
        }
        if let Some(step) = self.check_expectations().await? {
            return Ok(step);
        }
        if self.run_stop_hooks().await? {
            return Ok(StepOutcome::Continue);
        }
        match self.complete().await {
            Err(InputRejection::Refused(InputRefusal::MailWaiting)) => Ok(StepOutcome::Continue),
            Err(InputRejection::Refused(InputRefusal::NoFinalMessage)) if !self.nudged => self.nudge().await,
            Err(InputRejection::Refused(InputRefusal::NoFinalMessage)) => {
                let message = "the model ended without an answer".into();
                self.end(RunEnding::Failed { kind: FailKind::NoAnswer, message }).await
            }
            ended => ended,
        }
    }

    /// Asks the model once more after an empty answer.
    async fn nudge(&mut self) -> Result<StepOutcome, InputRejection> {
        self.nudged = true;
        self.session().submit_all([RunInput::Note(prompt::EMPTY.trim_end().into())]).await?;
        Ok(StepOutcome::Continue)
    }

    /// Decides the next step after a failed request; returns `None` if the request is to be tried again.
    pub(super) async fn handle_model_failure(
        &mut self,
        turn: Turn,
        error: ModelError,
        tries: &mut RetryState,
    ) -> Result<Option<StepOutcome>, InputRejection> {
        let (fault, charge) = (error.fault, self.failed_call_charge(&error));
        let error_text = match error.hint {
            Some(hint) => format!("{}; {hint}", error.message),
            None => error.message,
        };
        let next = match fault {
            // A key that was accepted before may become valid again, so park and keep the work.
            ModelFault::Auth if self.session().has_provider_answered(self.agent.model.name().to_owned()).await? => {
                RetryDecision::Park(Parking { until: None, why: ParkReason::Auth })
            }
            fault => tries.decide(fault, self.workplace.facts.clock.now(), self.workplace.facts.ids.uuid()),
        };
        let next = if self.conversation.wrap_up() == Some(WrapUpReason::Time) { next.when_time_is_up() } else { next };
        let retry = match next {
            RetryDecision::Retry(_, retry) => Some(retry),
            RetryDecision::Park(_) | RetryDecision::GiveUp | RetryDecision::TimeIsUp => None,
        };
        let report = RunUpdate::TurnFailed { turn, fault, message: error_text.clone(), charge, retry };
        let reported = self.report(report).await;
        if let InterruptibleOutcome::Interrupted =
            self.handle_report_result(Conversation::is_awaiting_answer, reported).await?
        {
            return Ok(Some(StepOutcome::Continue));
        }
        if fault == ModelFault::TooLong {
            return self.handle_too_long(&error_text).await;
        }
        match next {
            // An interrupt ends the wait; the next try reads its mail, however long the provider asked to wait.
            RetryDecision::Retry(after, _) => {
                let _paused = self.link.heartbeat.pause();
                let wait = tokio::time::sleep(after);
                match self.before_deadline(Conversation::has_no_interrupt, wait).await {
                    Some(_waited) => Ok(None),
                    None => Ok(Some(StepOutcome::Continue)),
                }
            }
            RetryDecision::Park(parking) => {
                if parking.why == ParkReason::Auth {
                    let message = format!("the model's provider refused the key: {error_text}");
                    let error = ::hooks::HookEventData::Error { what: "model_call", message };
                    // Hooks cannot decide anything here.
                    let _verdict = self.session().run_hooks(error).await;
                }
                self.report(RunUpdate::Park(parking)).await.map(|()| Some(StepOutcome::Stop))
            }
            RetryDecision::GiveUp => {
                let message = match fault {
                    ModelFault::Auth => format!("the model's provider refused the key: {error_text}"),
                    ModelFault::Transient
                    | ModelFault::Unreachable
                    | ModelFault::Overloaded
                    | ModelFault::RetryAfter { .. }
                    | ModelFault::QuotaUntil { .. }
                    | ModelFault::TooLong
                    | ModelFault::Terminal
                    | ModelFault::Cancelled
                    | ModelFault::Interrupted => error_text,
                };
                let error = ::hooks::HookEventData::Error { what: "model_call", message: message.clone() };
                // Hooks cannot decide anything here.
                let _verdict = self.session().run_hooks(error).await;
                self.end(RunEnding::Failed { kind: FailKind::Model, message }).await.map(Some)
            }
            RetryDecision::TimeIsUp => self.end(ending_of(WrapUpReason::Time)).await.map(Some),
        }
    }

    pub(super) async fn fail(&mut self, kind: FailKind, message: String) -> Result<(), InputRejection> {
        // Read unread mail first: it would wake the task again, which would fail the same way. Within a turn, mail is
        // read later.
        match self.report(RunUpdate::Boundary(BoundaryPoint::BetweenTurns)).await {
            Ok(()) | Err(InputRejection::Refused(InputRefusal::TurnInProgress)) => {}
            Err(rejected) => return Err(rejected),
        }
        self.end(RunEnding::Failed { kind, message }).await.map(|_over| ())
    }

    pub(super) async fn end(&mut self, ending: RunEnding) -> Result<StepOutcome, InputRejection> {
        let ending = self.seal_work(ending).await?;
        self.end_sealed(ending).await
    }

    /// Ends the activation after its work was sealed.
    pub(super) async fn end_sealed(&mut self, ending: RunEnding) -> Result<StepOutcome, InputRejection> {
        let mut text = self.conversation.latest_text().to_owned();
        if let Some((answer, next)) = prompt::split_suggestion(&text).filter(|_| self.suggests_prompts()) {
            let (answer, next) = (answer.to_owned(), next.to_owned());
            self.report(RunUpdate::PromptSuggested(next)).await?;
            text = answer;
        }
        self.report(RunUpdate::Ended { ending, text }).await.map(|()| StepOutcome::Stop)
    }

    /// Whether the agent was asked to suggest the user's next prompt in its last line.
    pub(super) fn suggests_prompts(&self) -> bool {
        self.workplace.facts.features.prompt_suggestions && self.profile.is_root()
    }

    /// Abandons the current request because the time is up.
    pub(super) async fn abandon_turn(&mut self, turn: Turn) -> Result<StepOutcome, InputRejection> {
        let (fault, message) = (ModelFault::Cancelled, "the time is up".into());
        self.report_cut_short(turn, fault, message).await?;
        self.catch_up();
        match self.conversation.wrap_up() {
            Some(why) => self.end(ending_of(why)).await,
            None => Ok(StepOutcome::Continue),
        }
    }

    /// Ends an answer that outgrew its budget. The next turn is decided as usual.
    pub(super) async fn cut_off_answer(&mut self, turn: Turn) -> Result<InterruptibleOutcome<()>, InputRejection> {
        let message = "the budget does not allow a longer answer".into();
        self.report_cut_short(turn, ModelFault::Cancelled, message).await
    }

    /// Reports a request that the run itself cut short. Its charge is the output so far.
    async fn report_cut_short(
        &mut self,
        turn: Turn,
        fault: ModelFault,
        message: String,
    ) -> Result<InterruptibleOutcome<()>, InputRejection> {
        let charge = FailedCallCharge::Used { output: self.streamed.tokens() };
        let report = self.report(RunUpdate::TurnFailed { turn, fault, message, charge, retry: None }).await;
        self.handle_report_result(Conversation::is_awaiting_answer, report).await
    }

    /// The charge for a failed request: nothing if the model never started to work on it.
    pub(super) fn failed_call_charge(&self, error: &ModelError) -> FailedCallCharge {
        let output = self.streamed.tokens();
        if error.has_started || output > 0 { FailedCallCharge::Used { output } } else { FailedCallCharge::Nothing }
    }

    /// Compacts as much as possible after the model rejected the request as too long; returns `None` to try again.
    async fn handle_too_long(&mut self, error_text: &str) -> Result<Option<StepOutcome>, InputRejection> {
        self.catch_up();
        let agent = (&self.profile, &*self.agent);
        match context_window::compact_fully(self.session(), agent, &self.conversation).await? {
            Some(compaction) => self.compact(compaction).await.map(|()| None),
            None => {
                let message = context_window::too_long_message(&self.agent, error_text);
                self.end(RunEnding::Failed { kind: FailKind::Model, message }).await.map(Some)
            }
        }
    }
}

/// How an activation ends after its last turn.
pub(super) fn ending_of(why: WrapUpReason) -> RunEnding {
    match why {
        WrapUpReason::Budget => RunEnding::BudgetExhausted,
        WrapUpReason::Turns => RunEnding::TimedOut(LimitKind::Turns),
        // For a stop, its requester decides the final state. An activation that was done before its last turn and ends
        // without that turn has run out of time.
        WrapUpReason::Time | WrapUpReason::Stop | WrapUpReason::Reported | WrapUpReason::NoChange => {
            RunEnding::TimedOut(LimitKind::Time)
        }
    }
}
