//! Servers that throttle, in simulated time.

use std::time::Duration;

use bosun_kernel::bucket::RequestOutcome;
use protocol::Timestamp;

/// Whether and how exactly a server states when to retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RetryHint {
    /// To the millisecond.
    Exact,
    /// In whole seconds, rounded up.
    Seconds,
    Silent,
}

/// The limit of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServerLimit {
    /// So many per second; unused ones accumulate up to `burst`.
    Rate { per_second: u32, burst: u32 },
    /// So many in each second of the clock.
    EachSecond(u32),
    /// So many at once.
    AtOnce(u32),
}

#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) allows: ServerLimit,
    pub(crate) hint: RetryHint,
    /// When it is down, if ever.
    pub(crate) down: std::ops::Range<u64>,
    /// Until when a quota is used up.
    pub(crate) quota_until: u64,
    tokens: f64,
    /// When `tokens` was last updated.
    updated_at: u64,
    /// Requests in progress.
    busy: u32,
}

impl Server {
    pub(crate) fn new(allows: ServerLimit, hint: RetryHint) -> Server {
        let tokens = match allows {
            ServerLimit::Rate { burst, .. } => burst,
            ServerLimit::EachSecond(_) | ServerLimit::AtOnce(_) => 0,
        };
        Server { allows, hint, down: 0..0, quota_until: 0, tokens: tokens.into(), updated_at: 0, busy: 0 }
    }

    /// Handles a request.
    pub(crate) fn handle_request(&mut self, now: u64) -> RequestOutcome {
        if self.down.contains(&now) {
            return RequestOutcome::Down;
        }
        if now < self.quota_until {
            return RequestOutcome::Quota(Timestamp(self.quota_until));
        }
        let wait = match self.allows {
            ServerLimit::Rate { per_second, burst } => self.take_token(now, per_second.into(), burst.into()),
            ServerLimit::EachSecond(max) => self.take_of_second(now, max.into()),
            ServerLimit::AtOnce(max) => (self.busy >= max).then_some(1),
        };
        match wait {
            None => {
                self.busy += 1;
                RequestOutcome::Answered
            }
            Some(millis) => RequestOutcome::Throttled(match self.hint {
                RetryHint::Exact => Some(Duration::from_millis(millis)),
                RetryHint::Seconds => Some(Duration::from_secs(millis.div_ceil(1000))),
                RetryHint::Silent => None,
            }),
        }
    }

    /// Notes that an answer was sent.
    pub(crate) fn done(&mut self) {
        self.busy -= 1;
    }

    fn take_token(&mut self, now: u64, rate: f64, burst: f64) -> Option<u64> {
        let since = u32::try_from(now - self.updated_at).unwrap_or(u32::MAX);
        self.tokens = (self.tokens + f64::from(since) / 1000.0 * rate).min(burst);
        self.updated_at = now;
        if self.tokens >= 1.0 {
            self.tokens -= 1.0;
            return None;
        }
        Some(Duration::from_secs_f64((1.0 - self.tokens) / rate).as_millis().try_into().unwrap_or(u64::MAX) + 1)
    }

    fn take_of_second(&mut self, now: u64, max: f64) -> Option<u64> {
        if now / 1000 != self.updated_at / 1000 {
            self.tokens = 0.0;
        }
        self.updated_at = now;
        self.tokens += 1.0;
        (self.tokens > max).then_some(1000 - now % 1000)
    }
}
