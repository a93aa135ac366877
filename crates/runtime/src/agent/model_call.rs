//! One model request.

use std::sync::Arc;

use futures_util::StreamExt;
use kernel::{InputRefusal, RunUpdate};
use model::{Delta, Model, ModelError, ModelReply, ModelRequest, ReplyBuilder};
use protocol::{Price, Turn};
use tools::Heartbeat;

use super::quote::text_tokens;
use crate::run_requests::{DayShare, RequestPermit, SessionRequests};
use crate::supervisor::InputRejection;
use crate::watchdog::StreamedTokens;

/// Receives an answer as it arrives.
pub(super) struct AnswerSink<'a> {
    pub(super) session: &'a dyn SessionRequests,
    pub(super) turn: Turn,
    pub(super) heartbeat: Heartbeat,
    /// The tokens that have arrived.
    pub(super) streamed: StreamedTokens,
    /// The reservation for the answer, if there is a budget.
    pub(super) reservation: Option<AnswerReservation<'a>>,
}

impl AnswerSink<'_> {
    /// Accepts a piece; returns the number of tokens that have arrived.
    fn accept(&self, delta: &Delta) -> u32 {
        self.heartbeat.beat();
        let (text, tokens) = match delta {
            Delta::Text(text) => (Some(text.as_str()), text_tokens(text)),
            Delta::Thinking(text) => (None, text_tokens(text)),
            Delta::Call(call) => (None, text_tokens(&call.tool) + text_tokens(&call.input)),
            // An opaque block repeats reasoning that was already counted, or may do so.
            Delta::Opaque { .. } | Delta::Done { .. } => (None, 0),
        };
        let arrived = self.streamed.add(tokens);
        self.session.answer_arrived(self.turn, text, arrived);
        arrived
    }
}

/// The reservation for an answer while it arrives.
pub(super) struct AnswerReservation<'a> {
    /// Present if the session or a task has a budget.
    pub(super) budget: Option<TurnBudget>,
    /// The reservation from the daily budget.
    pub(super) day_share: &'a DayShare,
    pub(super) price: Price,
    /// The reserved output in tokens.
    pub(super) output: u32,
}

/// Identifies a turn with a reservation in the budgets of its session and tasks.
pub(super) struct TurnBudget {
    pub(super) session: Arc<dyn SessionRequests>,
    pub(super) turn: Turn,
}

impl AnswerReservation<'_> {
    /// Raises the reservation before the output reaches it; returns whether the budgets allow that.
    async fn extend_for(&mut self, arrived: u32) -> Result<bool, InputRejection> {
        if arrived < self.output / 4 * 3 {
            return Ok(true);
        }
        let output = self.output.saturating_mul(2).max(arrived.saturating_mul(2));
        let extra_cost = self.price.max_cost(0, (output - self.output).into());
        if !self.day_share.raise(extra_cost).await {
            return Ok(false);
        }
        let is_raised = match &self.budget {
            Some(budget) => budget.raise_reservation(output).await?,
            None => true,
        };
        if is_raised {
            self.output = output;
        }
        Ok(is_raised)
    }
}

impl TurnBudget {
    async fn raise_reservation(&self, output: u32) -> Result<bool, InputRejection> {
        match self.session.report(RunUpdate::RaiseReservation { turn: self.turn, output }).await {
            Ok(()) => Ok(true),
            Err(InputRejection::Refused(InputRefusal::Budget { .. } | InputRefusal::BudgetHeld { .. })) => Ok(false),
            // The turn has ended; the events of its end are on their way.
            Err(InputRejection::Refused(InputRefusal::WrongTurn)) => Ok(true),
            Err(rejected) => Err(rejected),
        }
    }
}

/// The outcome of a model request.
pub(super) enum ModelCallOutcome {
    Answered(ModelReply),
    Failed(ModelError),
    /// The answer outgrew a budget and was cut off.
    OverBudget,
}

/// Sends the request and passes the answer to the sink as it arrives.
pub(super) async fn ask_model(
    model: &dyn Model,
    request: ModelRequest,
    mut sink: AnswerSink<'_>,
    permit: &mut RequestPermit,
) -> Result<ModelCallOutcome, InputRejection> {
    let mut deltas = model.send(request);
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
        if let Some(reservation) = sink.reservation.as_mut().filter(|_| !done)
            && !reservation.extend_for(arrived).await?
        {
            return Ok(ModelCallOutcome::OverBudget);
        }
    }
    Ok(match draft.finish() {
        Ok(reply) => ModelCallOutcome::Answered(reply),
        Err(error) => ModelCallOutcome::Failed(error),
    })
}
