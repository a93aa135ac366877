//! What a question takes of the budget of the day.

use std::sync::Arc;

use kernel::{BoundaryPoint, Parking, RunEnding, RunUpdate};
use protocol::{FailKind, ParkReason, Usage, WrapUpReason};

use super::answer_handling::ending_of;
use super::run::StepOutcome;
use super::{AgentRun, Deadline};
use crate::governor::{DayShare, DayShareError};
use crate::supervisor::InputRejection;

impl AgentRun {
    /// Waits for the next question's share of what may be spent today; parks when that is used up.
    pub(super) async fn reserve_day_share(&mut self) -> Result<Result<DayShare, StepOutcome>, InputRejection> {
        if self.agent.model.facts().price.is_none() {
            return Ok(Ok(DayShare::free()));
        }
        let context = Arc::clone(&self.context);
        let Some(limit) = context.settings.day_budget else { return Ok(Ok(context.governor.unlimited_share())) };
        let quote = self.quote();
        let share = context.governor.share_of_day(quote.cost(quote.expected).micros, limit);
        let _for_others = self.link.pulse.pause();
        match self.ask_deadline().limit(share).await {
            Some(Ok(share)) => Ok(Ok(share)),
            Some(Err(DayShareError::SpentUntil(until))) => {
                let parking = Parking { until: Some(until), why: ParkReason::DayBudget };
                self.report(RunUpdate::Park(parking)).await.map(|()| Err(StepOutcome::Stop))
            }
            Some(Err(DayShareError::Uncounted(why))) => {
                let message = format!("the budget of the day cannot be held: {why}");
                self.end_before_turn(RunEnding::Failed { kind: FailKind::Internal, message }).await.map(Err)
            }
            None => self.too_late_to_ask().await.map(Err),
        }
    }

    /// Until when it may wait to ask.
    pub(super) fn ask_deadline(&self) -> Deadline {
        match self.conversation.wrap_up() {
            // The last turn comes next, if nobody has to be waited for.
            None if self.deadline.is_over() => Deadline::moment(),
            None | Some(_) => self.deadline,
        }
    }

    /// Ends it, since its time is up before it could ask.
    pub(super) async fn too_late_to_ask(&mut self) -> Result<StepOutcome, InputRejection> {
        self.end_before_turn(ending_of(self.conversation.wrap_up().unwrap_or(WrapUpReason::Time))).await
    }

    /// Ends it before its turn. Mail that is not heard would wake the task again, for the same end.
    async fn end_before_turn(&mut self, ending: RunEnding) -> Result<StepOutcome, InputRejection> {
        self.report(RunUpdate::Boundary(BoundaryPoint::Between)).await?;
        self.end(ending).await
    }

    /// Books what an answer cost. What nobody counted is booked as it was expected.
    pub(super) fn settle_day(&self, share: DayShare, usage: Usage) {
        if let (Some(price), 1..) = (self.agent.model.facts().price, usage.total()) {
            share.settle(price.of(usage));
        }
    }
}
