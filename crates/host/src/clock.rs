//! The source of time. Everything that needs the time gets a clock, so that tests can move it.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use protocol::Timestamp;

/// A clock.
pub trait Clock: Send + Sync + fmt::Debug {
    /// The current time.
    fn now(&self) -> Timestamp;
}

/// The system clock, which may jump in either direction.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock that all other code uses")]
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_clock_returns_a_recent_time() {
        assert!(SystemClock.now() > Timestamp(1_790_000_000_000));
    }
}
