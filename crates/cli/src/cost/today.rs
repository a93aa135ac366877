//! Spending of all sessions today, and its limit.

use host::Home;
use kernel::day::{Day, DayLedger};
use protocol::Timestamp;
use serde::Serialize;
use store::{BucketStore, StoreError};

use crate::money::Money;
use crate::print;

/// Spending of today, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DailySpending {
    spent_usd: Money,
    /// `budget.day-usd`; null without a limit.
    limit_usd: Option<Money>,
    /// When the next day begins.
    ends_at: Timestamp,
}

impl DailySpending {
    pub(super) fn read(home: &Home, limit: Option<u64>, now: Timestamp) -> Result<DailySpending, StoreError> {
        let (buckets, day) = (BucketStore::open_to_read(home)?, Day::containing(now));
        let spent = match buckets.read(BucketStore::DAYS)? {
            Some(state) => serde_json::from_str::<DayLedger>(&state).unwrap_or_default().spent(day),
            // Count it as the next run will.
            None => buckets.spent_since(home, day.start())?,
        };
        Ok(DailySpending { spent_usd: Money::Known(spent), limit_usd: limit.map(Money::Known), ends_at: day.end() })
    }

    /// Prints how much of the limit is used, if there is one.
    pub(super) fn show(self) {
        let DailySpending { spent_usd, limit_usd, ends_at } = self;
        if let Some(limit) = limit_usd {
            print::note(format_args!("today: {spent_usd} of {limit}; the next day begins at {ends_at}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use kernel::bucket::PermitHolder;

    use super::*;

    #[test]
    fn spending_of_today_is_read_with_its_limit() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path().join("home")).unwrap();
        let now = Timestamp(1_800_000_000_000);
        let mut ledger = DayLedger::default();
        ledger.settle(Day::containing(now), &PermitHolder("own".into()), 0, 1_500_000);
        let state = serde_json::to_string(&ledger).unwrap();
        BucketStore::open(&home).unwrap().change(BucketStore::DAYS, |_| (state, ())).unwrap();
        let today = DailySpending::read(&home, Some(5_000_000), now).unwrap();
        assert_eq!((today.spent_usd, today.limit_usd), (Money::Known(1_500_000), Some(Money::Known(5_000_000))));
        let tomorrow = DailySpending::read(&home, None, today.ends_at).unwrap();
        assert_eq!((tomorrow.spent_usd, tomorrow.limit_usd), (Money::Known(0), None));
        BucketStore::open(&home).unwrap().clear().unwrap();
        assert_eq!(DailySpending::read(&home, Some(5_000_000), now).unwrap(), today, "spending is not forgotten");
    }
}
