//! What all processes that share a home spend per day (UTC).

use std::collections::BTreeMap;

use protocol::Timestamp;
use serde::{Deserialize, Serialize};

use crate::bucket::PermitHolder;

/// The number of days for which the spending is kept.
const MAX_DAYS: usize = 40;

/// Milliseconds per day.
const DAY_MILLIS: u64 = 86_400_000;

/// A day, counted from 1970-01-01.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Day(u64);

impl Day {
    /// The day that contains a time.
    pub fn containing(at: Timestamp) -> Day {
        Day(at.0 / DAY_MILLIS)
    }

    /// The time at which it begins.
    pub fn start(self) -> Timestamp {
        Timestamp(self.0 * DAY_MILLIS)
    }

    /// The time at which the next day begins.
    pub fn end(self) -> Timestamp {
        Timestamp((self.0 + 1) * DAY_MILLIS)
    }
}

/// What was spent each day, and what is reserved for requests in progress; in millionths of a US dollar.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DayLedger {
    spent: BTreeMap<Day, u64>,
    reserved: BTreeMap<PermitHolder, HolderReservation>,
}

/// What one process has reserved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
struct HolderReservation {
    /// Millionths of a US dollar.
    micros: u64,
    /// The day of its latest request.
    day: Day,
}

/// Whether a request fits into the day's budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DayReservation {
    /// Its cost is reserved.
    Reserved,
    /// It does not fit only because of other requests in progress.
    Contended,
    /// It does not fit because of what was already spent.
    Exhausted,
}

impl DayLedger {
    /// What was spent on a day.
    pub fn spent(&self, day: Day) -> u64 {
        self.spent.get(&day).copied().unwrap_or(0)
    }

    /// All holders with a reservation.
    pub fn holders(&self) -> impl Iterator<Item = &PermitHolder> {
        self.reserved.keys()
    }

    /// Reserves the cost of a request, if the day's limit allows it.
    pub fn reserve(&mut self, day: Day, holder: &PermitHolder, micros: u64, limit: u64) -> DayReservation {
        let spent = self.spent(day).saturating_add(micros);
        let reserved = self.reserved.values().fold(0_u64, |sum, held| sum.saturating_add(held.micros));
        if spent > limit {
            return DayReservation::Exhausted;
        }
        if spent.saturating_add(reserved) > limit {
            return DayReservation::Contended;
        }
        let held = self.reserved.entry(holder.clone()).or_default();
        *held = HolderReservation { micros: held.micros.saturating_add(micros), day };
        DayReservation::Reserved
    }

    /// Releases the reservation of a request, and adds its real cost to what was spent.
    pub fn settle(&mut self, day: Day, holder: &PermitHolder, reserved: u64, used: u64) {
        if let Some(held) = self.reserved.get_mut(holder) {
            held.micros = held.micros.saturating_sub(reserved);
        }
        self.reserved.retain(|_, held| held.micros > 0);
        self.add_spent(day, used);
    }

    /// Counts all reservations of a dead holder as spent, since the real cost is unknown.
    pub fn forget(&mut self, holder: &PermitHolder) {
        if let Some(HolderReservation { micros, day }) = self.reserved.remove(holder) {
            self.add_spent(day, micros);
        }
    }

    fn add_spent(&mut self, day: Day, micros: u64) {
        let spent = self.spent.entry(day).or_default();
        *spent = spent.saturating_add(micros);
        while self.spent.len() > MAX_DAYS {
            self.spent.pop_first();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: Timestamp = Timestamp(20_000 * DAY_MILLIS + DAY_MILLIS / 2);

    fn today() -> Day {
        Day::containing(NOON)
    }

    fn holder(name: &str) -> PermitHolder {
        PermitHolder(name.into())
    }

    #[test]
    fn spending_and_reservations_never_exceed_the_limit() {
        let (one, two) = (holder("one"), holder("two"));
        let mut ledger = DayLedger::default();
        assert_eq!(ledger.reserve(today(), &one, 60, 100), DayReservation::Reserved);
        assert_eq!(ledger.reserve(today(), &two, 41, 100), DayReservation::Contended);
        assert_eq!(ledger.reserve(today(), &two, 40, 100), DayReservation::Reserved);
        ledger.settle(today(), &one, 60, 30);
        assert_eq!(ledger.reserve(today(), &one, 31, 100), DayReservation::Contended);
        ledger.settle(today(), &two, 40, 40);
        assert_eq!((ledger.spent(today()), ledger.holders().count()), (70, 0));
        assert_eq!(ledger.reserve(today(), &one, 31, 100), DayReservation::Exhausted);
        assert_eq!(ledger.reserve(today(), &one, 30, 100), DayReservation::Reserved);
    }

    #[test]
    fn each_day_has_its_own_budget_even_if_the_clock_is_set_back() {
        let (own, next) = (holder("own"), Day::containing(today().end()));
        assert_eq!(Day::containing(Timestamp(today().end().0 - 1)), today());
        let mut ledger = DayLedger::default();
        ledger.settle(today(), &own, 0, 100);
        assert_eq!(ledger.reserve(today(), &own, 1, 100), DayReservation::Exhausted);
        assert_eq!(ledger.reserve(next, &own, 100, 100), DayReservation::Reserved);
        ledger.settle(next, &own, 100, 100);
        assert_eq!(ledger.reserve(today(), &own, 1, 100), DayReservation::Exhausted);
    }

    #[test]
    fn reservations_of_a_dead_process_count_as_spent() {
        let mut ledger = DayLedger::default();
        assert_eq!(ledger.reserve(today(), &holder("dead"), 70, 100), DayReservation::Reserved);
        assert_eq!(ledger.reserve(today(), &holder("own"), 40, 100), DayReservation::Contended);
        ledger.forget(&holder("dead"));
        ledger.forget(&holder("dead"));
        assert_eq!(ledger.spent(today()), 70);
        assert_eq!(ledger.reserve(today(), &holder("own"), 40, 100), DayReservation::Exhausted);
    }

    #[test]
    fn old_days_are_dropped() {
        let mut ledger = DayLedger::default();
        for day in 0..100 {
            ledger.settle(Day(day), &holder("own"), 0, 1);
        }
        assert_eq!((ledger.spent.len(), ledger.spent(Day(99)), ledger.spent(Day(9))), (MAX_DAYS, 1, 0));
    }
}
