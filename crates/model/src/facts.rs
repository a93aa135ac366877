//! What is known about a model besides its answers.

use protocol::Price;

/// What is known about a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelFacts {
    /// The key of its rate limit, shared by all processes: provider, account and model. None for a model without a
    /// provider.
    pub bucket_key: Option<String>,
    /// The price of its tokens, if known.
    pub price: Option<Price>,
    /// Whether its provider identifies the user, and so can send a bill. A provider without keys cannot.
    pub is_billed: bool,
    /// The maximum tokens of a request and its answer together, if known.
    pub context_tokens: Option<u64>,
    /// Maximum tokens of one answer.
    pub max_output_tokens: u32,
    /// How much help it needs.
    pub tier: ModelTier,
    /// How many requests its server accepts at once; the governor decides when absent.
    pub max_concurrent_requests: Option<u32>,
}

/// How much help a model needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelTier {
    /// None: it calls tools as its provider defines.
    Capable,
    /// It writes calls as text, which must be parsed, and may repeat a call endlessly, which must be stopped.
    Small,
}

impl ModelFacts {
    /// Whether it may cost money and its price is unknown.
    pub fn is_price_missing(&self) -> bool {
        self.price.is_none() && self.is_billed
    }

    /// The facts of a model that answers from a file: no provider, so no cost.
    pub(crate) const FILE: ModelFacts =
        ModelFacts { price: Some(Price { input: 0, output: 0, cache_read: 0, cache_write: 0 }), ..ModelFacts::UNKNOWN };

    /// The facts of an unknown model.
    pub const UNKNOWN: ModelFacts = ModelFacts {
        bucket_key: None,
        price: None,
        is_billed: false,
        context_tokens: None,
        max_output_tokens: 8_192,
        tier: ModelTier::Capable,
        max_concurrent_requests: None,
    };
}
