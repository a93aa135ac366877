//! What follows an answer, or none: the next step, another try, or the end of the activation.

use kernel::{Booked, Ending, Input, Letter, Parking, Point, Refusal, Report};
use model::{ModelError, Reply};
use protocol::{
    Block, Body, Cost, Delivery, FailKind, Limit, ModelFault, Origin, ParkReason, StopReason, Turn, WrapUp,
};

use super::AgentRun;
use super::early::Onward;
use super::meant;
use super::retry::{Next, Tries};
use super::room;
use super::run::{Broken, Step};
use crate::conversation::Conversation;
use crate::hooks::tell;
use crate::prompt;
use crate::supervisor::Rejected;

impl AgentRun {
    pub(super) async fn answered(&mut self, turn: Turn, reply: Reply) -> Result<Step, Rejected> {
        let Reply { mut content, stop, usage, model } = reply;
        meant::in_our_words(&self.outfit, &mut content);
        let calls = content.iter().any(|block| matches!(block, Block::Call(_)));
        let price = self.outfit.model.facts().price;
        let cost = match usage.total() {
            // Nobody counted it, and it used something.
            0 => self.conversation.reserved(),
            tokens => Cost { tokens, micros: price.map_or(0, |price| price.of(usage)) },
        };
        let onward = self.onward(&content, stop).await;
        let answer = Report::TurnAnswered { turn, content, stop, usage, cost, model };
        let (answered, went_on) = self.report_onward(turn, answer, &onward).await;
        match (self.unless_late(Conversation::is_asking, answered).await?, onward) {
            (Broken::Done(()), Onward::End(_)) if went_on.is_ok() => Ok(Step::Over),
            (Broken::Done(()), Onward::Start(early)) => {
                self.early = went_on.is_ok().then_some(early);
                Ok(Step::On)
            }
            (Broken::Done(()), Onward::End(_) | Onward::Unclear) if !calls => self.conclude(stop).await,
            (Broken::Done(()) | Broken::Off, Onward::Start(_) | Onward::End(_) | Onward::Unclear) => Ok(Step::On),
        }
    }

    /// Ends the activation after the model's last word, as it stands in the log.
    pub(super) async fn conclude(&mut self, stop: StopReason) -> Result<Step, Rejected> {
        self.catch_up();
        match (stop, self.conversation.wrap_up()) {
            (_, Some(why)) if why.completes() => self.finish().await,
            (_, Some(why)) => self.end(out_of(why)).await,
            (StopReason::Length, None) => {
                let message = "the model reached its output limit before it was done".into();
                self.end(Ending::Failed { kind: FailKind::NoAnswer, message }).await
            }
            (StopReason::End | StopReason::Calls | StopReason::Refusal, None) => self.finish().await,
        }
    }

    /// Ends the activation, unless mail came in that must be read first.
    pub(super) async fn finish(&mut self) -> Result<Step, Rejected> {
        self.report(Report::Boundary(Point::End)).await?;
        self.catch_up();
        if matches!(self.conversation.messages().last(), Some(model::Message::User { .. })) {
            return Ok(Step::On);
        }
        if let Some(step) = self.contract().await? {
            return Ok(step);
        }
        if self.is_held().await? {
            return Ok(Step::On);
        }
        match self.complete().await {
            Err(Rejected::Refused(Refusal::MailWaiting)) => Ok(Step::On),
            Err(Rejected::Refused(Refusal::NoAnswer)) if !self.nudged => self.nudge().await,
            Err(Rejected::Refused(Refusal::NoAnswer)) => {
                let message = "the model ended without an answer".into();
                self.end(Ending::Failed { kind: FailKind::NoAnswer, message }).await
            }
            ended => ended,
        }
    }

    /// Asks once more for an answer that came without a word.
    async fn nudge(&mut self) -> Result<Step, Rejected> {
        self.nudged = true;
        let (to, body) = (self.link.run.task, Body::text(prompt::EMPTY.trim_end()));
        let letter = Letter { to, from: Origin::Runtime, delivery: Delivery::Steer, body };
        self.link.supervisor.submit(Input::Send(letter)).await?;
        Ok(Step::On)
    }

    /// Tells how the run goes on after a model that did not answer; nothing when it asks again.
    pub(super) async fn failed(
        &mut self,
        turn: Turn,
        error: ModelError,
        tries: &mut Tries,
    ) -> Result<Option<Step>, Rejected> {
        let (fault, booked) = (error.fault, self.booked(&error));
        let words = match error.hint {
            Some(hint) => format!("{}; {hint}", error.message),
            None => error.message,
        };
        let next = match fault {
            // A key that was accepted before may be made valid again; what was done until then is kept.
            ModelFault::Auth if self.has_answered().await? => {
                Next::Park(Parking { until: None, why: ParkReason::Auth })
            }
            fault => tries.after(fault, self.desk.settings.clock.now(), self.desk.settings.ids.uuid()),
        };
        let retry = match next {
            Next::Again(_, retry) => Some(retry),
            Next::Park(_) | Next::GiveUp => None,
        };
        let report = Report::TurnFailed { turn, fault, message: words.clone(), booked, retry };
        let report = self.report(report).await;
        if let Broken::Off = self.unless_late(Conversation::is_asking, report).await? {
            return Ok(Some(Step::On));
        }
        if fault == ModelFault::TooLong {
            return self.too_long(&words).await;
        }
        match next {
            // Mail that interrupts is read now, by the next try, however long the provider asked to wait.
            Next::Again(after, _) => {
                let _until_then = self.link.pulse.rest();
                let wait = tokio::time::sleep(after);
                match self.in_time(Conversation::is_undisturbed, wait).await {
                    Some(_waited) => Ok(None),
                    None => Ok(Some(Step::On)),
                }
            }
            Next::Park(parking) => {
                if parking.why == ParkReason::Auth {
                    let message = format!("the model's provider refused the key: {words}");
                    let error = ::hooks::Occasion::Error { what: "model_call", message };
                    // There is nothing to decide about it.
                    let _heard = tell(&self.desk, self.link.run, error).await;
                }
                self.report(Report::Park(parking)).await.map(|()| Some(Step::Over))
            }
            Next::GiveUp => {
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
                let error = ::hooks::Occasion::Error { what: "model_call", message: message.clone() };
                // There is nothing to decide about it.
                let _heard = tell(&self.desk, self.link.run, error).await;
                self.end(Ending::Failed { kind: FailKind::Model, message }).await.map(Some)
            }
        }
    }

    pub(super) async fn fail(&mut self, kind: FailKind, message: String) -> Result<(), Rejected> {
        // Mail that is not heard would wake the task again, for the same end. In the middle of a turn that comes later.
        match self.report(Report::Boundary(Point::Between)).await {
            Ok(()) | Err(Rejected::Refused(Refusal::InTurn)) => {}
            Err(rejected) => return Err(rejected),
        }
        self.end(Ending::Failed { kind, message }).await.map(|_over| ())
    }

    pub(super) async fn end(&mut self, ending: Ending) -> Result<Step, Rejected> {
        let ending = self.sealed(ending).await?;
        self.end_sealed(ending).await
    }

    /// Ends the activation, what it made being kept.
    pub(super) async fn end_sealed(&mut self, ending: Ending) -> Result<Step, Rejected> {
        let mut text = self.conversation.said().to_owned();
        if let Some((answer, next)) = prompt::suggested(&text).filter(|_| self.suggests()) {
            let (answer, next) = (answer.to_owned(), next.to_owned());
            self.report(Report::Suggested(next)).await?;
            text = answer;
        }
        self.report(Report::Ended { ending, text }).await.map(|()| Step::Over)
    }

    /// Whether its last line was asked to say what the user may want to say next.
    pub(super) fn suggests(&self) -> bool {
        self.desk.settings.features.prompt_suggestions && self.desk.roster.is_root(self.link.run.task)
    }

    /// Gives up the question under way, since its time is up.
    pub(super) async fn out_of_time(&mut self, turn: Turn) -> Result<Step, Rejected> {
        let (fault, message) = (ModelFault::Cancelled, "the time is up".into());
        self.broken_off(turn, fault, message).await?;
        self.catch_up();
        match self.conversation.wrap_up() {
            Some(why) => self.end(out_of(why)).await,
            None => Ok(Step::On),
        }
    }

    /// Whether a model of its provider has answered in the session.
    async fn has_answered(&self) -> Result<bool, Rejected> {
        let model = self.outfit.model.name().to_owned();
        self.link.supervisor.look(move |kernel| kernel.has_answered(&model)).await
    }

    /// Breaks off an answer that no budget allows to be longer. What comes next is decided like any turn.
    pub(super) async fn too_expensive(&mut self, turn: Turn) -> Result<Broken<()>, Rejected> {
        let message = "the budget does not allow a longer answer".into();
        self.broken_off(turn, ModelFault::Cancelled, message).await
    }

    /// Books a request that it broke off itself.
    async fn broken_off(&mut self, turn: Turn, fault: ModelFault, message: String) -> Result<Broken<()>, Rejected> {
        let booked = Booked::Used { output: self.link.streamed.tokens() };
        let report = self.report(Report::TurnFailed { turn, fault, message, booked, retry: None }).await;
        self.unless_late(Conversation::is_asking, report).await
    }

    /// What a question that was not answered is counted as: nothing if the model never began to work on it.
    pub(super) fn booked(&self, error: &ModelError) -> Booked {
        let output = self.link.streamed.tokens();
        if error.begun || output > 0 { Booked::Used { output } } else { Booked::Nothing }
    }

    /// Leaves out as much as it can after the model said that it has no room; nothing when it asks again.
    async fn too_long(&mut self, words: &str) -> Result<Option<Step>, Rejected> {
        self.catch_up();
        match room::utmost(&self.desk, &self.outfit, (&self.link.supervisor, self.link.run.task), &self.conversation)
            .await?
        {
            Some(compaction) => self.compact(compaction).await.map(|()| None),
            None => {
                let message = room::too_long(&self.outfit, words);
                self.end(Ending::Failed { kind: FailKind::Model, message }).await.map(Some)
            }
        }
    }
}

/// How an activation ends that has taken its last turn.
pub(super) fn out_of(why: WrapUp) -> Ending {
    match why {
        WrapUp::Budget => Ending::BudgetExhausted,
        WrapUp::Turns => Ending::TimedOut(Limit::Turns),
        // Whoever asked it to stop decides what that is called.
        // What was done before its last turn and ends without that had no time for it.
        WrapUp::Time | WrapUp::Stop | WrapUp::Reported | WrapUp::NoChange => Ending::TimedOut(Limit::Time),
    }
}
