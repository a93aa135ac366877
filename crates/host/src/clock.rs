//! Where moments come from. Everything that needs the time is given a clock, so that tests can move it.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use protocol::Timestamp;

/// Tells the time.
pub trait Clock: Send + Sync + fmt::Debug {
    /// This moment.
    fn now(&self) -> Timestamp;
}

/// The machine's own clock, which may jump in either direction.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock that everybody else is given")]
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_clock_is_past_the_day_this_was_written() {
        assert!(SystemClock.now() > Timestamp(1_790_000_000_000));
    }
}
