//! Servers that throttle, in simulated time.

use std::time::Duration;

use bosun_kernel::bucket::RequestOutcome;
use protocol::Timestamp;

/// Whether and how a server says when to come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hint {
    /// To the millisecond.
    Exact,
    /// In whole seconds, rounded up.
    Seconds,
    Silent,
}

/// What a server allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Allows {
    /// So many per second, saved up to `burst`.
    Rate { per_second: u32, burst: u32 },
    /// So many in each second of the clock.
    EachSecond(u32),
    /// So many at once.
    AtOnce(u32),
}

#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) allows: Allows,
    pub(crate) hint: Hint,
    /// When it is down, if ever.
    pub(crate) down: std::ops::Range<u64>,
    /// Until when a quota is used up.
    pub(crate) quota_until: u64,
    tokens: f64,
    filled: u64,
    busy: u32,
}

impl Server {
    pub(crate) fn new(allows: Allows, hint: Hint) -> Server {
        let tokens = match allows {
            Allows::Rate { burst, .. } => burst,
            Allows::EachSecond(_) | Allows::AtOnce(_) => 0,
        };
        Server { allows, hint, down: 0..0, quota_until: 0, tokens: tokens.into(), filled: 0, busy: 0 }
    }

    /// A request arrives.
    pub(crate) fn take(&mut self, now: u64) -> RequestOutcome {
        if self.down.contains(&now) {
            return RequestOutcome::Down;
        }
        if now < self.quota_until {
            return RequestOutcome::Quota(Timestamp(self.quota_until));
        }
        let wait = match self.allows {
            Allows::Rate { per_second, burst } => self.take_token(now, per_second.into(), burst.into()),
            Allows::EachSecond(most) => self.take_of_second(now, most.into()),
            Allows::AtOnce(most) => (self.busy >= most).then_some(1),
        };
        match wait {
            None => {
                self.busy += 1;
                RequestOutcome::Answered
            }
            Some(millis) => RequestOutcome::Throttled(match self.hint {
                Hint::Exact => Some(Duration::from_millis(millis)),
                Hint::Seconds => Some(Duration::from_secs(millis.div_ceil(1000))),
                Hint::Silent => None,
            }),
        }
    }

    /// An answer has left.
    pub(crate) fn done(&mut self) {
        self.busy -= 1;
    }

    fn take_token(&mut self, now: u64, rate: f64, burst: f64) -> Option<u64> {
        let since = u32::try_from(now - self.filled).unwrap_or(u32::MAX);
        self.tokens = (self.tokens + f64::from(since) / 1000.0 * rate).min(burst);
        self.filled = now;
        if self.tokens >= 1.0 {
            self.tokens -= 1.0;
            return None;
        }
        Some(Duration::from_secs_f64((1.0 - self.tokens) / rate).as_millis().try_into().unwrap_or(u64::MAX) + 1)
    }

    fn take_of_second(&mut self, now: u64, most: f64) -> Option<u64> {
        if now / 1000 != self.filled / 1000 {
            self.tokens = 0.0;
        }
        self.filled = now;
        self.tokens += 1.0;
        (self.tokens > most).then_some(1000 - now % 1000)
    }
}
