//! One model request.

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

/// Receives an answer as it arrives.
pub(super) struct AnswerSink<'a> {
    pub(super) bus: &'a EventBus,
    pub(super) task: TaskId,
    pub(super) turn: Turn,
    pub(super) pulse: Heartbeat,
    pub(super) latest_text: LatestText,
    pub(super) streamed: StreamedTokens,
    /// The reservation for the answer, if there is a budget.
    pub(super) reservation: Option<AnswerReservation<'a>>,
}

impl AnswerSink<'_> {
    /// Accepts a piece; returns the number of tokens that have arrived.
    fn accept(&self, delta: &Delta) -> u32 {
        self.pulse.beat();
        if let Delta::Text(text) = delta {
            self.latest_text.push(self.turn, text);
            self.bus.publish(BusMessage::Text { task: self.task, turn: self.turn, text: text.clone() });
        }
        self.streamed.add(match delta {
            Delta::Text(text) | Delta::Thinking(text) => tokens(text),
            Delta::Call(call) => tokens(&call.tool) + tokens(&call.input),
            // An opaque block repeats reasoning that was counted as such, or cannot be told apart from it.
            Delta::Opaque { .. } | Delta::Done { .. } => 0,
        })
    }
}

/// The reservation for an answer while it arrives.
pub(super) struct AnswerReservation<'a> {
    /// Present if the session or a task has a budget.
    pub(super) budget: Option<TurnBudget>,
    /// The share of the daily budget.
    pub(super) share: &'a mut DayShare,
    pub(super) price: Price,
    /// The reserved output in tokens.
    pub(super) output: u32,
}

/// The turn that has a reservation in the budgets above it.
pub(super) struct TurnBudget {
    pub(super) supervisor: Supervisor,
    pub(super) run: RunId,
    pub(super) turn: Turn,
}

impl AnswerReservation<'_> {
    /// Raises the reservation before the output reaches it; returns whether the budgets allow that.
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
            // The turn has ended; its events follow.
            Err(InputRejection::Refused(InputRefusal::NoTurn)) => Ok(true),
            Err(rejected) => Err(rejected),
        }
    }
}

/// The outcome of a model request.
pub(super) enum ModelCallOutcome {
    Answered(ModelReply),
    Failed(ModelError),
    /// The answer outgrew the budgets above it and was cut off.
    TooLong,
}

/// Sends the request and passes the answer to the sink as it arrives.
pub(super) async fn ask_model(
    model: &dyn Model,
    request: ModelRequest,
    mut sink: AnswerSink<'_>,
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
        let arrived = sink.accept(&delta);
        let done = matches!(delta, Delta::Done { .. });
        if let Err(error) = draft.push(delta) {
            return Ok(ModelCallOutcome::Failed(error));
        }
        if let Some(growth) = sink.reservation.as_mut().filter(|_| !done)
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
