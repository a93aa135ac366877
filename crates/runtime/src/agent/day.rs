//! What a question takes of the budget of the day.

use std::sync::Arc;

use kernel::{Ending, Parking, Point, Report};
use protocol::{FailKind, ParkReason, Usage, WrapUp};

use super::ends::out_of;
use super::run::Step;
use super::{AgentRun, Deadline};
use crate::governor::{DayShare, NoShare};
use crate::supervisor::Rejected;

impl AgentRun {
    /// Waits for the next question's share of what may be spent today; parks when that is used up.
    pub(super) async fn share_of_day(&mut self) -> Result<Result<DayShare, Step>, Rejected> {
        if self.outfit.model.facts().price.is_none() {
            return Ok(Ok(DayShare::free()));
        }
        let desk = Arc::clone(&self.desk);
        let Some(limit) = desk.settings.day_budget else { return Ok(Ok(desk.governor.unlimited_share())) };
        let quote = self.quote();
        let share = desk.governor.share_of_day(quote.cost(quote.expected).micros, limit);
        let _for_others = self.link.pulse.rest();
        match self.time_to_ask().watch(share).await {
            Some(Ok(share)) => Ok(Ok(share)),
            Some(Err(NoShare::Until(until))) => {
                let parking = Parking { until: Some(until), why: ParkReason::DayBudget };
                self.report(Report::Park(parking)).await.map(|()| Err(Step::Over))
            }
            Some(Err(NoShare::Uncounted(why))) => {
                let message = format!("the budget of the day cannot be held: {why}");
                self.unheard(Ending::Failed { kind: FailKind::Internal, message }).await.map(Err)
            }
            None => self.too_late_to_ask().await.map(Err),
        }
    }

    /// Until when it may wait to ask.
    pub(super) fn time_to_ask(&self) -> Deadline {
        match self.conversation.wrap_up() {
            // The last turn comes next, if nobody has to be waited for.
            None if self.deadline.is_over() => Deadline::moment(),
            None | Some(_) => self.deadline,
        }
    }

    /// Ends it, since its time is up before it could ask.
    pub(super) async fn too_late_to_ask(&mut self) -> Result<Step, Rejected> {
        self.unheard(out_of(self.conversation.wrap_up().unwrap_or(WrapUp::Time))).await
    }

    /// Ends it before its turn. Mail that is not heard would wake the task again, for the same end.
    async fn unheard(&mut self, ending: Ending) -> Result<Step, Rejected> {
        self.report(Report::Boundary(Point::Between)).await?;
        self.end(ending).await
    }

    /// Books what an answer cost. What nobody counted is booked as it was expected.
    pub(super) fn settle_day(&self, share: DayShare, usage: Usage) {
        if let (Some(price), 1..) = (self.outfit.model.facts().price, usage.total()) {
            share.settle(price.of(usage));
        }
    }
}
