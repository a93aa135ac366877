//! What is known of a model besides its answers.

use protocol::Price;

/// What is known of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelFacts {
    /// Who shares its rate limit, in this process and in others: provider, account and model. None for one without
    /// a provider.
    pub bucket: Option<String>,
    /// What its tokens cost, if that is known.
    pub price: Option<Price>,
    /// Whether its provider knows its customer, and so can send a bill. One that asks for no key cannot.
    pub is_billed: bool,
    /// How many tokens a request and its answer may have together, if that is known.
    pub context: Option<u64>,
    /// Most tokens of one answer.
    pub max_output: u32,
    /// How much help it needs.
    pub tier: ModelTier,
    /// How many requests its server takes at once; as many as the governor allows when absent.
    pub max_concurrent_requests: Option<u32>,
}

/// How much help a model needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelTier {
    /// None: it calls tools as its provider defines.
    Capable,
    /// Calls that it writes as text are read, and one that it repeats for ever is stopped.
    Small,
}

impl ModelFacts {
    /// Whether somebody may have to pay for it, and nobody knows how much.
    pub fn is_price_missing(&self) -> bool {
        self.price.is_none() && self.is_billed
    }

    /// A model of which nothing is known.
    pub const UNKNOWN: ModelFacts = ModelFacts {
        bucket: None,
        price: None,
        is_billed: false,
        context: None,
        max_output: 8_192,
        tier: ModelTier::Capable,
        max_concurrent_requests: None,
    };
}
