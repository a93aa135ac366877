//! How much of an answer has arrived, for the case that the kernel ends the request.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// The tokens of a run's answer that have arrived. Clones share the count.
#[derive(Debug, Clone, Default)]
pub(crate) struct StreamedTokens(Arc<AtomicU32>);

impl StreamedTokens {
    /// Sets the count.
    pub(crate) fn set(&self, tokens: u32) {
        self.0.store(tokens, Ordering::Relaxed);
    }

    /// Adds tokens; returns the sum.
    pub(crate) fn add(&self, tokens: u64) -> u32 {
        let tokens = u32::try_from(tokens).unwrap_or(u32::MAX);
        let sum = self.tokens().saturating_add(tokens);
        self.set(sum);
        sum
    }

    /// The number of tokens.
    pub(crate) fn tokens(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}
