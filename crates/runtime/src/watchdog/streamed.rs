//! How much of an answer has arrived, for when the request is broken off by somebody who does not know.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// The tokens of a run's answer that have arrived. Copies are of the same run.
#[derive(Debug, Clone, Default)]
pub(crate) struct StreamedTokens(Arc<AtomicU32>);

impl StreamedTokens {
    /// Begins to count anew.
    pub(crate) fn begin(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// Counts more, and tells how many there are.
    pub(crate) fn add(&self, tokens: u64) -> u32 {
        let tokens = u32::try_from(tokens).unwrap_or(u32::MAX);
        let sum = self.tokens().saturating_add(tokens);
        self.0.store(sum, Ordering::Relaxed);
        sum
    }

    /// How many there are.
    pub(crate) fn tokens(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}
