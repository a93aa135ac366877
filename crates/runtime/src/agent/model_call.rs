//! One question to the model.

use futures_util::StreamExt;
use kernel::{InputRefusal, RunUpdate};
use model::{Delta, Model, ModelError, ModelReply, ModelRequest, ReplyBuilder};
use protocol::{Price, RunId, TaskId, Turn};
use tools::Heartbeat;

use super::quote::tokens;
use crate::bus::{BusMessage, EventBus};
use crate::governor::{DayShare, ModelPermit};
use crate::supervisor::{InputRejection, Supervisor};
use crate::watchdog::{LatestText, StreamedTokens};

/// Where an answer is heard as it arrives.
pub(super) struct AnswerSink<'a> {
    pub(super) bus: &'a EventBus,
    pub(super) task: TaskId,
    pub(super) turn: Turn,
    pub(super) pulse: Heartbeat,
    pub(super) words: LatestText,
    pub(super) streamed: StreamedTokens,
    /// What is set aside for the answer, where somebody limits that.
    pub(super) reservation: Option<AnswerReservation<'a>>,
}

impl AnswerSink<'_> {
    /// Takes a piece in; tells how many tokens have arrived.
    fn accept(&self, delta: &Delta) -> u32 {
        self.pulse.beat();
        if let Delta::Text(text) = delta {
            self.words.push(self.turn, text);
            self.bus.publish(BusMessage::Text { task: self.task, turn: self.turn, text: text.clone() });
        }
        self.streamed.add(match delta {
            Delta::Text(text) | Delta::Thinking(text) => tokens(text),
            Delta::Call(call) => tokens(&call.tool) + tokens(&call.input),
            // What a provider wants back of its reasoning was heard as such, or is not told apart from it.
            Delta::Opaque { .. } | Delta::Done { .. } => 0,
        })
    }
}

/// What is set aside for an answer while it arrives.
pub(super) struct AnswerReservation<'a> {
    /// Where somebody limits what the session spends.
    pub(super) budget: Option<TurnBudget>,
    /// What it takes of the budget of the day.
    pub(super) share: &'a mut DayShare,
    pub(super) price: Price,
    /// The output that is set aside for.
    pub(super) output: u32,
}

/// The turn that the budgets above it set something aside for.
pub(super) struct TurnBudget {
    pub(super) supervisor: Supervisor,
    pub(super) run: RunId,
    pub(super) turn: Turn,
}

impl AnswerReservation<'_> {
    /// Sets more aside before so much has arrived as was set aside for; tells whether there was more.
    async fn extend_for(&mut self, arrived: u32) -> Result<bool, InputRejection> {
        if arrived < self.output / 4 * 3 {
            return Ok(true);
        }
        let output = self.output.saturating_mul(2).max(arrived.saturating_mul(2));
        let more = self.price.at_most(0, (output - self.output).into());
        if !self.share.grow(more).await {
            return Ok(false);
        }
        let grown = match &self.budget {
            Some(budget) => budget.grow(output).await?,
            None => true,
        };
        if grown {
            self.output = output;
        }
        Ok(grown)
    }
}

impl TurnBudget {
    async fn grow(&self, output: u32) -> Result<bool, InputRejection> {
        match self.supervisor.report(self.run, RunUpdate::RaiseReservation { turn: self.turn, output }).await {
            Ok(()) => Ok(true),
            Err(InputRejection::Refused(InputRefusal::Budget { .. } | InputRefusal::BudgetHeld { .. })) => Ok(false),
            // Somebody has ended the turn; its events say so.
            Err(InputRejection::Refused(InputRefusal::NoTurn)) => Ok(true),
            Err(rejected) => Err(rejected),
        }
    }
}

/// What a question came to.
pub(super) enum ModelCallOutcome {
    Answered(ModelReply),
    Failed(ModelError),
    /// The answer grew longer than any budget above it allows, and was broken off.
    TooLong,
}

/// Asks, and lets the answer be heard as it arrives.
pub(super) async fn ask_model(
    model: &dyn Model,
    request: ModelRequest,
    mut ears: AnswerSink<'_>,
    permit: &mut ModelPermit,
) -> Result<ModelCallOutcome, InputRejection> {
    let mut deltas = model.ask(request);
    let mut draft = ReplyBuilder::default();
    while let Some(delta) = deltas.next().await {
        let delta = match delta {
            Ok(delta) => delta,
            Err(error) => return Ok(ModelCallOutcome::Failed(error)),
        };
        permit.answer_began();
        let arrived = ears.accept(&delta);
        let done = matches!(delta, Delta::Done { .. });
        if let Err(error) = draft.push(delta) {
            return Ok(ModelCallOutcome::Failed(error));
        }
        if let Some(growth) = ears.reservation.as_mut().filter(|_| !done)
            && !growth.extend_for(arrived).await?
        {
            return Ok(ModelCallOutcome::TooLong);
        }
    }
    Ok(match draft.finish() {
        Ok(reply) => ModelCallOutcome::Answered(reply),
        Err(error) => ModelCallOutcome::Failed(error),
    })
}
