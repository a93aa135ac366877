//! What follows an answer, or none: the next step, another try, or the end of the activation.

use kernel::{BoundaryPoint, FailedCallCharge, InputRefusal, KernelInput, NewMail, Parking, RunEnding, RunUpdate};
use model::{ModelError, ModelReply};
use protocol::{
    ContentBlock, Cost, FailKind, LimitKind, MailBody, MailDelivery, ModelFault, ParkReason, Principal, StopReason,
    Turn, WrapUpReason,
};

use super::AgentRun;
use super::call_normalization;
use super::context_window;
use super::early_start::AnswerFollowUp;
use super::retry::{RetryDecision, RetryState};
use super::run::{InterruptibleOutcome, StepOutcome};
use crate::conversation::Conversation;
use crate::hooks::run_hooks;
use crate::prompt;
use crate::supervisor::InputRejection;

impl AgentRun {
    pub(super) async fn handle_answer(&mut self, turn: Turn, reply: ModelReply) -> Result<StepOutcome, InputRejection> {
        let ModelReply { mut content, stop, usage, model } = reply;
        call_normalization::normalize_calls(&self.agent, &mut content);
        let calls = content.iter().any(|block| matches!(block, ContentBlock::Call(_)));
        let price = self.agent.model.facts().price;
        let cost = match usage.total() {
            // Nobody counted it, and it used something.
            0 => self.conversation.reserved(),
            tokens => Cost { tokens, micros: price.map_or(0, |price| price.of(usage)) },
        };
        let onward = self.plan_follow_up(&content, stop).await;
        let answer = RunUpdate::TurnAnswered { turn, content, stop, usage, cost, model };
        let (answered, went_on) = self.report_with_follow_up(turn, answer, &onward).await;
        match (self.unless_late(Conversation::is_asking, answered).await?, onward) {
            (InterruptibleOutcome::Finished(()), AnswerFollowUp::EndActivation(_)) if went_on.is_ok() => {
                Ok(StepOutcome::Stop)
            }
            (InterruptibleOutcome::Finished(()), AnswerFollowUp::StartCall(early)) => {
                self.early = went_on.is_ok().then_some(early);
                Ok(StepOutcome::Continue)
            }
            (InterruptibleOutcome::Finished(()), AnswerFollowUp::EndActivation(_) | AnswerFollowUp::Undecided)
                if !calls =>
            {
                self.conclude(stop).await
            }
            (
                InterruptibleOutcome::Finished(()) | InterruptibleOutcome::Interrupted,
                AnswerFollowUp::StartCall(_) | AnswerFollowUp::EndActivation(_) | AnswerFollowUp::Undecided,
            ) => Ok(StepOutcome::Continue),
        }
    }

    /// Ends the activation after the model's last word, as it stands in the log.
    pub(super) async fn conclude(&mut self, stop: StopReason) -> Result<StepOutcome, InputRejection> {
        self.catch_up();
        match (stop, self.conversation.wrap_up()) {
            (_, Some(why)) if why.completes() => self.finish().await,
            (_, Some(why)) => self.end(ending_of(why)).await,
            (StopReason::Length, None) => {
                let message = "the model reached its output limit before it was done".into();
                self.end(RunEnding::Failed { kind: FailKind::NoAnswer, message }).await
            }
            (StopReason::End | StopReason::Calls | StopReason::Refusal, None) => self.finish().await,
        }
    }

    /// Ends the activation, unless mail came in that must be read first.
    pub(super) async fn finish(&mut self) -> Result<StepOutcome, InputRejection> {
        self.report(RunUpdate::Boundary(BoundaryPoint::End)).await?;
        self.catch_up();
        if matches!(self.conversation.messages().last(), Some(model::ModelMessage::User { .. })) {
            return Ok(StepOutcome::Continue);
        }
        if let Some(step) = self.check_expectations().await? {
            return Ok(step);
        }
        if self.is_held_by_hooks().await? {
            return Ok(StepOutcome::Continue);
        }
        match self.complete().await {
            Err(InputRejection::Refused(InputRefusal::MailWaiting)) => Ok(StepOutcome::Continue),
            Err(InputRejection::Refused(InputRefusal::NoAnswer)) if !self.nudged => self.nudge().await,
            Err(InputRejection::Refused(InputRefusal::NoAnswer)) => {
                let message = "the model ended without an answer".into();
                self.end(RunEnding::Failed { kind: FailKind::NoAnswer, message }).await
            }
            ended => ended,
        }
    }

    /// Asks once more for an answer that came without a word.
    async fn nudge(&mut self) -> Result<StepOutcome, InputRejection> {
        self.nudged = true;
        let (to, body) = (self.link.run.task, MailBody::text(prompt::EMPTY.trim_end()));
        let letter = NewMail { to, from: Principal::Runtime, delivery: MailDelivery::Steer, body };
        self.link.supervisor.submit(KernelInput::Send(letter)).await?;
        Ok(StepOutcome::Continue)
    }

    /// Tells how the run goes on after a model that did not answer; nothing when it asks again.
    pub(super) async fn handle_model_failure(
        &mut self,
        turn: Turn,
        error: ModelError,
        tries: &mut RetryState,
    ) -> Result<Option<StepOutcome>, InputRejection> {
        let (fault, booked) = (error.fault, self.booked_usage(&error));
        let words = match error.hint {
            Some(hint) => format!("{}; {hint}", error.message),
            None => error.message,
        };
        let next = match fault {
            // A key that was accepted before may be made valid again; what was done until then is kept.
            ModelFault::Auth if self.has_answered().await? => {
                RetryDecision::Park(Parking { until: None, why: ParkReason::Auth })
            }
            fault => tries.decide(fault, self.context.settings.clock.now(), self.context.settings.ids.uuid()),
        };
        let retry = match next {
            RetryDecision::AskAgain(_, retry) => Some(retry),
            RetryDecision::Park(_) | RetryDecision::GiveUp => None,
        };
        let report = RunUpdate::TurnFailed { turn, fault, message: words.clone(), charge: booked, retry };
        let report = self.report(report).await;
        if let InterruptibleOutcome::Interrupted = self.unless_late(Conversation::is_asking, report).await? {
            return Ok(Some(StepOutcome::Continue));
        }
        if fault == ModelFault::TooLong {
            return self.handle_too_long(&words).await;
        }
        match next {
            // Mail that interrupts is read now, by the next try, however long the provider asked to wait.
            RetryDecision::AskAgain(after, _) => {
                let _until_then = self.link.pulse.pause();
                let wait = tokio::time::sleep(after);
                match self.before_deadline(Conversation::is_undisturbed, wait).await {
                    Some(_waited) => Ok(None),
                    None => Ok(Some(StepOutcome::Continue)),
                }
            }
            RetryDecision::Park(parking) => {
                if parking.why == ParkReason::Auth {
                    let message = format!("the model's provider refused the key: {words}");
                    let error = ::hooks::HookEventData::Error { what: "model_call", message };
                    // There is nothing to decide about it.
                    let _heard = run_hooks(&self.context, self.link.run, error).await;
                }
                self.report(RunUpdate::Park(parking)).await.map(|()| Some(StepOutcome::Stop))
            }
            RetryDecision::GiveUp => {
                let message = match fault {
                    ModelFault::Auth => format!("the model's provider refused the key: {words}"),
                    ModelFault::Transient
                    | ModelFault::Unreachable
                    | ModelFault::Overloaded
                    | ModelFault::RetryAfter { .. }
                    | ModelFault::QuotaUntil { .. }
                    | ModelFault::TooLong
                    | ModelFault::Terminal
                    | ModelFault::Cancelled
                    | ModelFault::Interrupted => words,
                };
                let error = ::hooks::HookEventData::Error { what: "model_call", message: message.clone() };
                // There is nothing to decide about it.
                let _heard = run_hooks(&self.context, self.link.run, error).await;
                self.end(RunEnding::Failed { kind: FailKind::Model, message }).await.map(Some)
            }
        }
    }

    pub(super) async fn fail(&mut self, kind: FailKind, message: String) -> Result<(), InputRejection> {
        // Mail that is not heard would wake the task again, for the same end. In the middle of a turn that comes later.
        match self.report(RunUpdate::Boundary(BoundaryPoint::Between)).await {
            Ok(()) | Err(InputRejection::Refused(InputRefusal::InTurn)) => {}
            Err(rejected) => return Err(rejected),
        }
        self.end(RunEnding::Failed { kind, message }).await.map(|_over| ())
    }

    pub(super) async fn end(&mut self, ending: RunEnding) -> Result<StepOutcome, InputRejection> {
        let ending = self.seal_work(ending).await?;
        self.end_sealed(ending).await
    }

    /// Ends the activation, what it made being kept.
    pub(super) async fn end_sealed(&mut self, ending: RunEnding) -> Result<StepOutcome, InputRejection> {
        let mut text = self.conversation.latest_text().to_owned();
        if let Some((answer, next)) = prompt::split_suggestion(&text).filter(|_| self.suggests_prompts()) {
            let (answer, next) = (answer.to_owned(), next.to_owned());
            self.report(RunUpdate::PromptSuggested(next)).await?;
            text = answer;
        }
        self.report(RunUpdate::Ended { ending, text }).await.map(|()| StepOutcome::Stop)
    }

    /// Whether its last line was asked to say what the user may want to say next.
    pub(super) fn suggests_prompts(&self) -> bool {
        self.context.settings.features.prompt_suggestions && self.context.roster.is_root(self.link.run.task)
    }

    /// Gives up the question under way, since its time is up.
    pub(super) async fn abandon_turn(&mut self, turn: Turn) -> Result<StepOutcome, InputRejection> {
        let (fault, message) = (ModelFault::Cancelled, "the time is up".into());
        self.report_broken_off(turn, fault, message).await?;
        self.catch_up();
        match self.conversation.wrap_up() {
            Some(why) => self.end(ending_of(why)).await,
            None => Ok(StepOutcome::Continue),
        }
    }

    /// Whether a model of its provider has answered in the session.
    async fn has_answered(&self) -> Result<bool, InputRejection> {
        let model = self.agent.model.name().to_owned();
        self.link.supervisor.query(move |kernel| kernel.has_answered(&model)).await
    }

    /// Breaks off an answer that no budget allows to be longer. What comes next is decided like any turn.
    pub(super) async fn too_expensive(&mut self, turn: Turn) -> Result<InterruptibleOutcome<()>, InputRejection> {
        let message = "the budget does not allow a longer answer".into();
        self.report_broken_off(turn, ModelFault::Cancelled, message).await
    }

    /// Books a request that it broke off itself.
    async fn report_broken_off(
        &mut self,
        turn: Turn,
        fault: ModelFault,
        message: String,
    ) -> Result<InterruptibleOutcome<()>, InputRejection> {
        let booked = FailedCallCharge::Used { output: self.link.streamed.tokens() };
        let report = self.report(RunUpdate::TurnFailed { turn, fault, message, charge: booked, retry: None }).await;
        self.unless_late(Conversation::is_asking, report).await
    }

    /// What a question that was not answered is counted as: nothing if the model never began to work on it.
    pub(super) fn booked_usage(&self, error: &ModelError) -> FailedCallCharge {
        let output = self.link.streamed.tokens();
        if error.has_started || output > 0 { FailedCallCharge::Used { output } } else { FailedCallCharge::Nothing }
    }

    /// Leaves out as much as it can after the model said that it has no room; nothing when it asks again.
    async fn handle_too_long(&mut self, words: &str) -> Result<Option<StepOutcome>, InputRejection> {
        self.catch_up();
        match context_window::compact_fully(
            &self.context,
            &self.agent,
            (&self.link.supervisor, self.link.run.task),
            &self.conversation,
        )
        .await?
        {
            Some(compaction) => self.compact(compaction).await.map(|()| None),
            None => {
                let message = context_window::too_long_message(&self.agent, words);
                self.end(RunEnding::Failed { kind: FailKind::Model, message }).await.map(Some)
            }
        }
    }
}

/// How an activation ends that has taken its last turn.
pub(super) fn ending_of(why: WrapUpReason) -> RunEnding {
    match why {
        WrapUpReason::Budget => RunEnding::BudgetExhausted,
        WrapUpReason::Turns => RunEnding::TimedOut(LimitKind::Turns),
        // Whoever asked it to stop decides what that is called.
        // What was done before its last turn and ends without that had no time for it.
        WrapUpReason::Time | WrapUpReason::Stop | WrapUpReason::Reported | WrapUpReason::NoChange => {
            RunEnding::TimedOut(LimitKind::Time)
        }
    }
}
