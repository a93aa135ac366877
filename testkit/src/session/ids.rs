//! Ids that are the same in every run of a test.

use std::sync::atomic::{AtomicU64, Ordering};

use host::Ids;
use uuid::Uuid;

/// UUIDs that count from 1.
#[derive(Debug, Default)]
pub struct CountedIds(AtomicU64);

impl Ids for CountedIds {
    fn uuid(&self) -> Uuid {
        Uuid::from_u128(u128::from(self.0.fetch_add(1, Ordering::SeqCst) + 1))
    }
}
