//! A clock that tests move.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use host::Clock;
use protocol::Timestamp;

/// Returns the same time until it is moved, forwards or backwards.
#[derive(Debug)]
pub struct FakeClock(AtomicU64);

impl FakeClock {
    /// Its initial time.
    pub const START: Timestamp = Timestamp(1_800_000_000_000);

    /// Jumps forwards.
    pub fn advance(&self, by: Duration) {
        self.0.store(self.now().plus(by).0, Ordering::SeqCst);
    }

    /// Jumps backwards.
    pub fn set_back(&self, by: Duration) {
        let by = u64::try_from(by.as_millis()).unwrap_or(u64::MAX);
        self.0.store(self.now().0.saturating_sub(by), Ordering::SeqCst);
    }
}

impl Default for FakeClock {
    fn default() -> FakeClock {
        FakeClock(AtomicU64::new(FakeClock::START.0))
    }
}

impl Clock for FakeClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}
