//! Where buckets are kept: shared in `bosun.db`, or by this process alone when that file cannot be used.

use std::collections::HashMap;
use std::sync::Arc;

use host::Home;
use kernel::Bucket;
use kernel::bucket::Holder;
use kernel::day::{Day, DayLedger};
use protocol::At;
use store::{Buckets, StoreError};

/// Where buckets are kept.
#[derive(Debug)]
pub(super) struct Shelf {
    shared: Option<Buckets>,
    /// The buckets as last seen; the truth when nothing is shared.
    seen: HashMap<Arc<str>, Bucket>,
}

impl Shelf {
    /// Opens the shared buckets.
    pub(super) fn open(home: &Home, now: At) -> Shelf {
        let shared = Buckets::open(home).inspect_err(alone).ok();
        let shelf = Shelf { shared, seen: HashMap::new() };
        if let Err(error) = shelf.recall_day(home, Day::of(now)) {
            tracing::warn!(error, "what was spent today before bosun.db was made again is not counted");
        }
        shelf
    }

    /// Counts again what the sessions spent today, if nothing is known of any day: `bosun.db` is new, or was lost.
    fn recall_day(&self, home: &Home, today: Day) -> Result<(), String> {
        let Some(shared) = &self.shared else { return Ok(()) };
        let text = |error: StoreError| error.to_string();
        if shared.read(Buckets::DAYS).map_err(text)?.is_some() {
            return Ok(());
        }
        let spent = shared.spent_since(home, today.start()).map_err(text)?;
        // Also that it is nothing, so that it is not counted again.
        self.change_days(|ledger| {
            // Another process may have counted it meanwhile.
            if *ledger == DayLedger::default() {
                ledger.settle(today, &Holder(String::new()), 0, spent);
            }
        })
    }

    /// A bucket as it is now.
    pub(super) fn look(&mut self, key: &Arc<str>, own: &Holder, now: At) -> Bucket {
        if let Some(read) = self.shared.as_ref().map(|buckets| buckets.read(key)) {
            match read {
                Ok(state) => drop(self.seen.insert(Arc::clone(key), parse(key, state))),
                Err(error) => self.give_up(&error, own, now),
            }
        }
        self.seen.get(key).cloned().unwrap_or_default()
    }

    /// Changes a bucket. `edit` may be called again when the change could not be written.
    pub(super) fn change<T>(
        &mut self,
        key: &Arc<str>,
        own: &Holder,
        now: At,
        mut edit: impl FnMut(&mut Bucket) -> T,
    ) -> T {
        let written = self.shared.as_ref().map(|buckets| {
            buckets.change(key, |state| {
                let mut bucket = parse(key, state);
                let told = edit(&mut bucket);
                (print(&bucket), (told, bucket))
            })
        });
        match written {
            Some(Ok((told, bucket))) => {
                self.seen.insert(Arc::clone(key), bucket);
                return told;
            }
            Some(Err(error)) => self.give_up(&error, own, now),
            None => {}
        }
        edit(self.seen.entry(Arc::clone(key)).or_default())
    }

    /// Changes what is known of the days. Nobody goes on alone with that: what the others spend counts too.
    pub(super) fn change_days<T>(&self, edit: impl FnOnce(&mut DayLedger) -> T) -> Result<T, String> {
        let Some(shared) = &self.shared else { return Err("bosun.db cannot be used".into()) };
        let changed = shared.change(Buckets::DAYS, |state| {
            let read = state.as_deref().map_or(Ok(DayLedger::default()), serde_json::from_str);
            match read.map(|mut ledger: DayLedger| (edit(&mut ledger), ledger)) {
                // Plain data with text keys always prints.
                Ok((told, ledger)) => (serde_json::to_string(&ledger).unwrap_or_default(), Ok(told)),
                Err(error) => (state.unwrap_or_default(), Err(format!("what was spent is damaged: {error}"))),
            }
        });
        changed.map_err(|error| error.to_string())?
    }

    /// Goes on alone, with what was last known but for the others.
    fn give_up(&mut self, error: &StoreError, own: &Holder, now: At) {
        alone(error);
        self.shared = None;
        for bucket in self.seen.values_mut() {
            let others: Vec<Holder> = bucket.holders().filter(|holder| *holder != own).cloned().collect();
            others.iter().for_each(|other| bucket.forget(now, other));
        }
    }
}

fn alone(error: &StoreError) {
    tracing::warn!(%error, "providers' limits are not shared with other processes");
}

/// A bucket that makes no sense is as good as none: it is learnt again.
fn parse(key: &str, state: Option<String>) -> Bucket {
    let Some(state) = state else { return Bucket::default() };
    serde_json::from_str(&state).unwrap_or_else(|error| {
        tracing::warn!(key, %error, "what was known of a provider's limits is damaged and begins anew");
        Bucket::default()
    })
}

fn print(bucket: &Bucket) -> String {
    // Plain data with text keys always prints; an empty text would read as damaged and begin anew.
    serde_json::to_string(bucket).unwrap_or_default()
}
