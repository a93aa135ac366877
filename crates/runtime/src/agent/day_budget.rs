//! The share of the daily budget that a model request takes.

use std::sync::Arc;

use kernel::{BoundaryPoint, Parking, RunEnding, RunUpdate};
use protocol::{FailKind, ParkReason, Usage, WrapUpReason};

use super::answer_handling::ending_of;
use super::run::StepOutcome;
use super::{AgentRun, Deadline};
use crate::governor::{DayShare, DayShareError};
use crate::supervisor::InputRejection;

impl AgentRun {
    /// Waits for the next request's share of the daily budget; parks when the budget is used up.
    pub(super) async fn reserve_day_share(&mut self) -> Result<Result<DayShare, StepOutcome>, InputRejection> {
        if self.agent.model.facts().price.is_none() {
            return Ok(Ok(DayShare::free()));
        }
        let context = Arc::clone(&self.context);
        let Some(limit) = context.settings.day_budget else { return Ok(Ok(context.governor.unlimited_share())) };
        let quote = self.quote();
        let share = context.governor.share_of_day(quote.cost(quote.expected).micros, limit);
        let _paused = self.link.heartbeat.pause();
        match self.ask_deadline().limit(share).await {
            Some(Ok(share)) => Ok(Ok(share)),
            Some(Err(DayShareError::SpentUntil(until))) => {
                let parking = Parking { until: Some(until), why: ParkReason::DayBudget };
                self.report(RunUpdate::Park(parking)).await.map(|()| Err(StepOutcome::Stop))
            }
            Some(Err(DayShareError::SpendingUnknown(why))) => {
                let message = format!("cannot reserve from the daily budget: {why}");
                self.end_before_turn(RunEnding::Failed { kind: FailKind::Internal, message }).await.map(Err)
            }
            None => self.too_late_to_ask().await.map(Err),
        }
    }

    /// The time until which the run may wait for its next model request.
    pub(super) fn ask_deadline(&self) -> Deadline {
        match self.conversation.wrap_up() {
            // The last turn comes next, if the provider is free.
            None if self.deadline.is_over() => Deadline::moment(),
            None | Some(_) => self.deadline,
        }
    }

    /// Ends the activation because its time is up before the request could be sent.
    pub(super) async fn too_late_to_ask(&mut self) -> Result<StepOutcome, InputRejection> {
        self.end_before_turn(ending_of(self.conversation.wrap_up().unwrap_or(WrapUpReason::Time))).await
    }

    /// Ends the activation before its turn. Unread mail would wake the task again, for the same end.
    async fn end_before_turn(&mut self, ending: RunEnding) -> Result<StepOutcome, InputRejection> {
        self.report(RunUpdate::Boundary(BoundaryPoint::Between)).await?;
        self.end(ending).await
    }

    /// Books the cost of an answer. If the provider reports no usage, the reserved cost stays booked.
    pub(super) fn settle_day(&self, share: DayShare, usage: Usage) {
        if let (Some(price), 1..) = (self.agent.model.facts().price, usage.total()) {
            share.settle(price.of(usage));
        }
    }
}
