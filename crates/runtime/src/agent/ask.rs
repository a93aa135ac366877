//! One question to the model.

use futures_util::StreamExt;
use kernel::{Refusal, Report};
use model::{Delta, Draft, Model, ModelError, Reply, Request};
use protocol::{Price, Run, TaskId, Turn};
use tools::Pulse;

use super::quote::tokens;
use crate::bus::{Bus, Live};
use crate::governor::{DayShare, Permit};
use crate::supervisor::{Rejected, Supervisor};
use crate::watch::{Streamed, Words};

/// Where an answer is heard as it arrives.
pub(super) struct Ears<'a> {
    pub(super) bus: &'a Bus,
    pub(super) task: TaskId,
    pub(super) turn: Turn,
    pub(super) pulse: Pulse,
    pub(super) words: Words,
    pub(super) streamed: Streamed,
    /// What is set aside for the answer, where somebody limits that.
    pub(super) growth: Option<Growth<'a>>,
}

impl Ears<'_> {
    /// Takes a piece in; tells how many tokens have arrived.
    fn hear(&self, delta: &Delta) -> u32 {
        self.pulse.beat();
        if let Delta::Text(text) = delta {
            self.words.hear(self.turn, text);
            self.bus.publish(Live::Text { task: self.task, turn: self.turn, text: text.clone() });
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
pub(super) struct Growth<'a> {
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
    pub(super) run: Run,
    pub(super) turn: Turn,
}

impl Growth<'_> {
    /// Sets more aside before so much has arrived as was set aside for; tells whether there was more.
    async fn cover(&mut self, arrived: u32) -> Result<bool, Rejected> {
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
    async fn grow(&self, output: u32) -> Result<bool, Rejected> {
        match self.supervisor.report(self.run, Report::TurnGrows { turn: self.turn, output }).await {
            Ok(()) => Ok(true),
            Err(Rejected::Refused(Refusal::Budget { .. } | Refusal::BudgetHeld { .. })) => Ok(false),
            // Somebody has ended the turn; its events say so.
            Err(Rejected::Refused(Refusal::NoTurn)) => Ok(true),
            Err(rejected) => Err(rejected),
        }
    }
}

/// What a question came to.
pub(super) enum Asked {
    Answered(Reply),
    Failed(ModelError),
    /// The answer grew longer than any budget above it allows, and was broken off.
    TooLong,
}

/// Asks, and lets the answer be heard as it arrives.
pub(super) async fn ask(
    model: &dyn Model,
    request: Request,
    mut ears: Ears<'_>,
    permit: &mut Permit,
) -> Result<Asked, Rejected> {
    let mut deltas = model.ask(request);
    let mut draft = Draft::default();
    while let Some(delta) = deltas.next().await {
        let delta = match delta {
            Ok(delta) => delta,
            Err(error) => return Ok(Asked::Failed(error)),
        };
        permit.begun();
        let arrived = ears.hear(&delta);
        let done = matches!(delta, Delta::Done { .. });
        if let Err(error) = draft.push(delta) {
            return Ok(Asked::Failed(error));
        }
        if let Some(growth) = ears.growth.as_mut().filter(|_| !done)
            && !growth.cover(arrived).await?
        {
            return Ok(Asked::TooLong);
        }
    }
    Ok(match draft.finish() {
        Ok(reply) => Asked::Answered(reply),
        Err(error) => Asked::Failed(error),
    })
}
