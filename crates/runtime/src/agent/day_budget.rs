//! Reserves the cost of model requests from the daily budget.

use std::sync::Arc;

use kernel::{BoundaryPoint, Parking, RunEnding, RunUpdate};
use protocol::{FailKind, ParkReason, Price, Usage, WrapUpReason};

use super::answer_handling::ending_of;
use super::run::StepOutcome;
use super::{AgentRun, Deadline};
use crate::governor::DayBudgetError;
use crate::run_requests::DayShare;
use crate::supervisor::InputRejection;

impl AgentRun {
    /// Reserves the expected cost of the next request from the daily budget; parks when the budget is used up. The
    /// inner error is how the step ends if the request cannot be sent.
    pub(super) async fn reserve_day_share(&mut self) -> Result<Result<DayShare, StepOutcome>, InputRejection> {
        if self.agent.model.facts().price.is_none_or(Price::is_free) {
            return Ok(Ok(DayShare::for_free_model()));
        }
        let (session, quote) = (Arc::clone(&self.link.session), self.quote());
        let reservation = session.reserve_day(quote.cost(quote.expected_output).micros);
        let _paused = self.link.heartbeat.pause();
        match self.ask_deadline().limit(reservation).await {
            Some(Ok(hold)) => Ok(Ok(DayShare::new(Arc::clone(&self.link.session), hold))),
            Some(Err(DayBudgetError::SpentUntil(until))) => {
                let parking = Parking { until: Some(until), why: ParkReason::DayBudget };
                self.report(RunUpdate::Park(parking)).await.map(|()| Err(StepOutcome::Stop))
            }
            Some(Err(DayBudgetError::SpendingUnknown(why))) => {
                let message = format!("cannot reserve from the daily budget: {why}");
                self.end_before_turn(RunEnding::Failed { kind: FailKind::Internal, message }).await.map(Err)
            }
            None => self.too_late_to_ask().await.map(Err),
        }
    }

    /// The time until which the run may wait for its next model request.
    pub(super) fn ask_deadline(&self) -> Deadline {
        match self.conversation.wrap_up() {
            // Time is up and only the last turn is left: wait for it only briefly.
            None if self.deadline.is_over() => Deadline::brief(),
            None | Some(_) => self.deadline,
        }
    }

    /// Ends the activation because its time is up before the request could be sent.
    pub(super) async fn too_late_to_ask(&mut self) -> Result<StepOutcome, InputRejection> {
        self.end_before_turn(ending_of(self.conversation.wrap_up().unwrap_or(WrapUpReason::Time))).await
    }

    /// Ends the activation before its turn. Reads unread mail first: it would wake the task again, which would end the
    /// same way.
    async fn end_before_turn(&mut self, ending: RunEnding) -> Result<StepOutcome, InputRejection> {
        self.report(RunUpdate::Boundary(BoundaryPoint::BetweenTurns)).await?;
        self.end(ending).await
    }

    /// Settles the reservation to the real cost. If the provider reports no usage, all of it counts as spent.
    pub(super) fn settle_day(&self, share: DayShare, usage: Usage) {
        if let (Some(price), 1..) = (self.agent.model.facts().price, usage.total()) {
            share.settle(price.cost(usage));
        }
    }
}
