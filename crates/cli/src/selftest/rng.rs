//! Deterministic pseudo-random numbers.

/// A SplitMix64 generator. It is written here, since `--seed` must mean the same kills after every update of a library.
#[derive(Debug, Clone)]
pub(super) struct SplitMixRng(u64);

impl SplitMixRng {
    pub(super) fn new(seed: u64) -> SplitMixRng {
        SplitMixRng(seed)
    }

    /// A number from 1 to `max`, inclusive.
    pub(super) fn one_to(&mut self, max: u64) -> u64 {
        self.next() % max.max(1) + 1
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
