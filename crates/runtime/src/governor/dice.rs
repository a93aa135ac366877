//! Chance, to spread those who wait for the same thing.

use std::hash::{BuildHasher, RandomState};

/// A source of numbers that nobody can rely on.
#[derive(Debug, Default)]
pub(super) struct Dice {
    seed: RandomState,
    thrown: u64,
}

impl Dice {
    /// A number between 0 and 1.
    pub(super) fn share(&mut self) -> f64 {
        self.thrown += 1;
        let high = u32::try_from(self.seed.hash_one(self.thrown) >> 32).unwrap_or(0);
        f64::from(high) / f64::from(u32::MAX)
    }
}
