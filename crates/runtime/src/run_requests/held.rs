//! What the run of a session holds at its governor, by the ids that the run knows.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{HoldId, HoldUpdate};
use crate::governor::{DayBudgetReservation, ModelPermit};

/// What a run holds. Everything that is left is returned when this is dropped.
#[derive(Debug, Default)]
pub(super) struct HeldByRun(Mutex<HeldParts>);

#[derive(Debug, Default)]
struct HeldParts {
    permits: BTreeMap<HoldId, ModelPermit>,
    day_reservations: BTreeMap<HoldId, DayBudgetReservation>,
    last_id: u64,
}

impl HeldParts {
    fn next_id(&mut self) -> HoldId {
        self.last_id += 1;
        HoldId(self.last_id)
    }
}

impl HeldByRun {
    pub(super) fn keep_permit(&self, permit: ModelPermit) -> HoldId {
        let mut parts = self.lock();
        let id = parts.next_id();
        parts.permits.insert(id, permit);
        id
    }

    pub(super) fn keep_day(&self, reservation: DayBudgetReservation) -> HoldId {
        let mut parts = self.lock();
        let id = parts.next_id();
        parts.day_reservations.insert(id, reservation);
        id
    }

    /// Reserves more from the daily budget; returns whether the limit allows it. A reservation whose raise is dropped
    /// counts as spent.
    pub(super) async fn raise_day(&self, id: HoldId, micros: u64) -> bool {
        let reservation = self.lock().day_reservations.remove(&id);
        let Some(mut reservation) = reservation else { return false };
        let is_raised = reservation.raise(micros).await;
        self.lock().day_reservations.insert(id, reservation);
        is_raised
    }

    /// Applies an update of the run; one about something that was returned changes nothing.
    pub(super) fn update(&self, id: HoldId, update: HoldUpdate) {
        let mut parts = self.lock();
        match update {
            HoldUpdate::AnswerBegan => parts.permits.get_mut(&id).into_iter().for_each(ModelPermit::answer_began),
            HoldUpdate::Sent(expected) => {
                parts.day_reservations.get_mut(&id).into_iter().for_each(|held| held.mark_sent(expected));
            }
            HoldUpdate::Returned(outcome) => {
                parts.permits.remove(&id).into_iter().for_each(|permit| permit.settle(outcome));
            }
            HoldUpdate::Spent(used) => {
                parts.day_reservations.remove(&id).into_iter().for_each(|held| held.settle(used));
            }
            HoldUpdate::Dropped => drop((parts.permits.remove(&id), parts.day_reservations.remove(&id))),
        }
    }

    fn lock(&self) -> MutexGuard<'_, HeldParts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use host::{Home, SystemClock};
    use protocol::ModelFault;

    use super::*;
    use crate::governor::{Governor, PermitOutcome, RequestAdmission};

    /// A permit of a bucket that admits one request at a time, if it is granted in this time.
    async fn admit(governor: &Governor, wait: Duration) -> Option<ModelPermit> {
        match tokio::time::timeout(wait, governor.admit(Some("account/model"), Some(1))).await.ok()? {
            RequestAdmission::Admitted(permit) => Some(permit),
            RequestAdmission::Park(until) => panic!("parked until {until}"),
        }
    }

    #[tokio::test]
    async fn a_permit_is_returned_once_and_with_everything_else_that_the_run_holds() {
        let (soon, late) = (Duration::from_millis(300), Duration::from_secs(20));
        let folder = tempfile::tempdir().unwrap();
        let governor = Governor::open(Home::open(folder.path().join("home")).unwrap(), Arc::new(SystemClock));
        let held = HeldByRun::default();
        let first = held.keep_permit(admit(&governor, late).await.unwrap());
        assert!(admit(&governor, soon).await.is_none(), "the bucket admits one request at a time");
        held.update(first, HoldUpdate::Returned(PermitOutcome::Answered));
        let second = held.keep_permit(admit(&governor, late).await.unwrap());
        assert_ne!(first, second);
        held.update(first, HoldUpdate::Returned(PermitOutcome::Failed(ModelFault::Overloaded)));
        held.update(first, HoldUpdate::Dropped);
        assert!(admit(&governor, soon).await.is_none(), "an old id returns nothing");
        drop(held);
        assert!(admit(&governor, late).await.is_some());
    }
}
