//! Storage of buckets: shared in `bosun.db`, or in this process alone if that file cannot be used.

use std::collections::HashMap;
use std::sync::Arc;

use host::Home;
use kernel::RateBucket;
use kernel::bucket::PermitHolder;
use kernel::day::{Day, DayLedger};
use protocol::Timestamp;
use store::{BucketStore, StoreError};

/// Why the spending of a day is unknown.
#[derive(Debug, thiserror::Error)]
pub(super) enum DayLedgerError {
    #[error("bosun.db cannot be used")]
    NoDatabase,
    #[error("the spending record is damaged: {0}")]
    Damaged(serde_json::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Storage of buckets.
#[derive(Debug)]
pub(super) struct BucketBackend {
    shared: Option<BucketStore>,
    /// The buckets as last read or written; the only copy when nothing is shared.
    last_read: HashMap<Arc<str>, RateBucket>,
}

impl BucketBackend {
    /// Opens the shared buckets.
    pub(super) fn open(home: &Home, now: Timestamp) -> BucketBackend {
        let shared = BucketStore::open(home).inspect_err(warn_unshared).ok();
        let backend = BucketBackend { shared, last_read: HashMap::new() };
        if let Err(error) = backend.restore_day(home, Day::containing(now)) {
            tracing::warn!(%error, "today's spending before bosun.db was recreated is not counted");
        }
        backend
    }

    /// Recounts today's spending of all sessions if no day is stored: `bosun.db` is new or was lost.
    fn restore_day(&self, home: &Home, today: Day) -> Result<(), DayLedgerError> {
        let Some(shared) = &self.shared else { return Ok(()) };
        if shared.read(BucketStore::DAYS)?.is_some() {
            return Ok(());
        }
        let spent = shared.spent_since(home, today.start())?;
        // Store a zero as well, so that the spending is not counted again.
        self.change_days(|ledger| {
            // Another process may have counted it meanwhile.
            if *ledger == DayLedger::default() {
                ledger.settle(today, &PermitHolder(String::new()), 0, spent);
            }
        })
    }

    /// A bucket as it is now.
    pub(super) fn read(&mut self, key: &Arc<str>, own: &PermitHolder, now: Timestamp) -> RateBucket {
        if let Some(read) = self.shared.as_ref().map(|buckets| buckets.read(key)) {
            match read {
                Ok(state) => drop(self.last_read.insert(Arc::clone(key), parse_bucket(key, state))),
                Err(error) => self.stop_sharing(&error, own, now),
            }
        }
        self.last_read.get(key).cloned().unwrap_or_default()
    }

    /// Changes a bucket. `edit` may be called again when the change could not be written.
    pub(super) fn change<T>(
        &mut self,
        key: &Arc<str>,
        own: &PermitHolder,
        now: Timestamp,
        mut edit: impl FnMut(&mut RateBucket) -> T,
    ) -> T {
        let written = self.shared.as_ref().map(|buckets| {
            buckets.change(key, |state| {
                let mut bucket = parse_bucket(key, state);
                let result = edit(&mut bucket);
                (serialize_bucket(&bucket), (result, bucket))
            })
        });
        match written {
            Some(Ok((result, bucket))) => {
                self.last_read.insert(Arc::clone(key), bucket);
                return result;
            }
            Some(Err(error)) => self.stop_sharing(&error, own, now),
            None => {}
        }
        edit(self.last_read.entry(Arc::clone(key)).or_default())
    }

    /// Changes the ledger of days. It has no fallback to this process alone: spending of other processes counts too.
    pub(super) fn change_days<T>(&self, edit: impl FnOnce(&mut DayLedger) -> T) -> Result<T, DayLedgerError> {
        let Some(shared) = &self.shared else { return Err(DayLedgerError::NoDatabase) };
        let changed = shared.change(BucketStore::DAYS, |state| {
            let read = state.as_deref().map_or(Ok(DayLedger::default()), serde_json::from_str);
            match read.map(|mut ledger: DayLedger| (edit(&mut ledger), ledger)) {
                // Plain data with text keys always serialises.
                Ok((result, ledger)) => (serde_json::to_string(&ledger).unwrap_or_default(), Ok(result)),
                Err(error) => (state.unwrap_or_default(), Err(DayLedgerError::Damaged(error))),
            }
        });
        changed?
    }

    /// Continues without sharing, with the last known buckets minus the permits of other processes.
    fn stop_sharing(&mut self, error: &StoreError, own: &PermitHolder, now: Timestamp) {
        warn_unshared(error);
        self.shared = None;
        for bucket in self.last_read.values_mut() {
            let others: Vec<PermitHolder> = bucket.holders().filter(|holder| *holder != own).cloned().collect();
            others.iter().for_each(|other| bucket.forget(now, other));
        }
    }
}

fn warn_unshared(error: &StoreError) {
    tracing::warn!(%error, "provider limits are not shared with other processes");
}

/// Parses a bucket. A damaged one is replaced by a new one, which learns the limits again.
fn parse_bucket(key: &str, state: Option<String>) -> RateBucket {
    let Some(state) = state else { return RateBucket::default() };
    serde_json::from_str(&state).unwrap_or_else(|error| {
        tracing::warn!(key, %error, "the stored limits of a provider are damaged and were reset");
        RateBucket::default()
    })
}

fn serialize_bucket(bucket: &RateBucket) -> String {
    // Plain data with text keys always serialises; an empty text would be read as damaged and reset.
    serde_json::to_string(bucket).unwrap_or_default()
}
