//! What the buckets say to people: which models are closed, and what was spent today.

use host::Home;
use kernel::RateBucket;
use kernel::day::{Day, DayLedger};
use protocol::Timestamp;
use store::{BucketStore, StoreError};

/// A model that receives no requests from this machine for now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClosedModel {
    /// The key of its bucket: provider, account and model.
    pub key: String,
    /// When it is asked again.
    pub until: Timestamp,
}

/// The models that are closed now. Unreadable state counts as open.
pub fn closed_models(home: &Home, now: Timestamp) -> Result<Vec<ClosedModel>, StoreError> {
    let closed = |(key, state): (String, String)| {
        let bucket: RateBucket = serde_json::from_str(&state).ok()?;
        let until = bucket.closed_until().filter(|until| *until > now)?;
        Some(ClosedModel { key, until })
    };
    Ok(BucketStore::open(home)?.all()?.into_iter().filter_map(closed).collect())
}

/// Opens all closed models.
pub fn reopen_models(home: &Home) -> Result<(), StoreError> {
    BucketStore::open(home)?.clear()
}

/// What all sessions spent today, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpentToday {
    /// In millionths of a US dollar.
    pub micros: u64,
    /// When the next day begins.
    pub ends_at: Timestamp,
}

impl SpentToday {
    /// Reads it for the day that contains `now`.
    pub fn read(home: &Home, now: Timestamp) -> Result<SpentToday, StoreError> {
        let (buckets, day) = (BucketStore::open_to_read(home)?, Day::containing(now));
        let micros = match buckets.read(BucketStore::DAYS)? {
            Some(state) => serde_json::from_str::<DayLedger>(&state).unwrap_or_default().spent(day),
            // Count it as the next run will.
            None => buckets.spent_since(home, day.start())?,
        };
        Ok(SpentToday { micros, ends_at: day.end() })
    }
}

#[cfg(test)]
mod tests {
    use kernel::bucket::PermitHolder;

    use super::*;

    #[test]
    fn spending_of_today_outlives_the_buckets() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path().join("home")).unwrap();
        let now = Timestamp(1_800_000_000_000);
        let mut ledger = DayLedger::default();
        ledger.settle(Day::containing(now), &PermitHolder("own".into()), 0, 1_500_000);
        let state = serde_json::to_string(&ledger).unwrap();
        BucketStore::open(&home).unwrap().change(BucketStore::DAYS, |_| (state, ())).unwrap();
        let today = SpentToday::read(&home, now).unwrap();
        assert_eq!(today.micros, 1_500_000);
        assert_eq!(SpentToday::read(&home, today.ends_at).unwrap().micros, 0);
        reopen_models(&home).unwrap();
        assert_eq!(SpentToday::read(&home, now).unwrap(), today, "spending is not forgotten");
    }
}
