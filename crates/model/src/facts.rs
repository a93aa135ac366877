//! What is known of a model besides its answers.

use protocol::Price;

/// What is known of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// Who shares its rate limit, in this process and in others: provider, account and model. None for one without
    /// a provider.
    pub bucket: Option<String>,
    /// What its tokens cost, if that is known.
    pub price: Option<Price>,
    /// Whether its provider knows its customer, and so can send a bill. One that asks for no key cannot.
    pub bills: bool,
    /// How many tokens a request and its answer may have together, if that is known.
    pub context: Option<u64>,
    /// Most tokens of one answer.
    pub max_output: u32,
    /// How much help it needs.
    pub skill: Skill,
    /// How many requests its server takes at once; as many as the governor allows when absent.
    pub at_once: Option<u32>,
}

/// How much help a model needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Skill {
    /// None: it calls tools as its provider defines.
    Able,
    /// Calls that it writes as text are read, and one that it repeats for ever is stopped.
    Small,
}

impl Facts {
    /// Whether somebody may have to pay for it, and nobody knows how much.
    pub fn is_price_missing(&self) -> bool {
        self.price.is_none() && self.bills
    }

    /// A model of which nothing is known.
    pub const UNKNOWN: Facts = Facts {
        bucket: None,
        price: None,
        bills: false,
        context: None,
        max_output: 8_192,
        skill: Skill::Able,
        at_once: None,
    };
}
