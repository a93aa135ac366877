//! A rate limit: a bucket of tokens that fills with time.

use std::time::{Duration, Instant};

/// Whether a refusal says when to retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hint {
    /// With `Retry-After`.
    RetryAfter,
    /// Without a hint.
    Silent,
}

/// A bucket that holds at most the tokens of one second.
#[derive(Debug)]
pub(super) struct TokenBucket {
    rate: f64,
    tokens: f64,
    filled: Instant,
}

impl TokenBucket {
    /// A full bucket.
    pub(super) fn new(per_second: u32, now: Instant) -> TokenBucket {
        TokenBucket { rate: per_second.into(), tokens: per_second.into(), filled: now }
    }

    /// Takes a token, or returns when there will be one.
    pub(super) fn take(&mut self, now: Instant) -> Result<(), Duration> {
        let since = now.saturating_duration_since(self.filled).as_secs_f64();
        self.tokens = (self.tokens + since * self.rate).min(self.rate);
        self.filled = now;
        if self.tokens < 1.0 {
            let wait = (1.0 - self.tokens) / self.rate.max(f64::MIN_POSITIVE);
            return Err(Duration::try_from_secs_f64(wait).unwrap_or(Duration::MAX));
        }
        self.tokens -= 1.0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_allows_a_burst_of_a_second_and_then_its_rate() {
        let start = Instant::now();
        let mut bucket = TokenBucket::new(10, start);
        assert_eq!((0..30).filter(|_| bucket.take(start).is_ok()).count(), 10);
        let later = start + Duration::from_millis(500);
        assert_eq!((0..30).filter(|_| bucket.take(later).is_ok()).count(), 5);
        assert!(bucket.take(later).unwrap_err() <= Duration::from_millis(101));
        let much_later = start + Duration::from_secs(60);
        assert_eq!((0..30).filter(|_| bucket.take(much_later).is_ok()).count(), 10);
    }
}
