//! Random numbers, to spread requests that wait for the same time.

use std::hash::{BuildHasher, RandomState};

/// A source of random numbers, not for security.
#[derive(Debug, Default)]
pub(super) struct JitterSource {
    seed: RandomState,
    draws: u64,
}

impl JitterSource {
    /// A number between 0 and 1.
    pub(super) fn fraction(&mut self) -> f64 {
        self.draws += 1;
        let high = u32::try_from(self.seed.hash_one(self.draws) >> 32).unwrap_or(0);
        f64::from(high) / f64::from(u32::MAX)
    }
}
