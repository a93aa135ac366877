//! Token usage, cost and budgets of model calls.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Tokens of one model answer, as its provider counted them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Usage {
    /// Uncached input tokens.
    pub input: u64,
    /// Output tokens, including reasoning.
    pub output: u64,
    /// Input tokens read from the provider's cache.
    pub cache_read: u64,
    /// Input tokens written to the provider's cache.
    pub cache_write: u64,
}

impl Usage {
    /// All tokens of the call.
    pub fn total(self) -> u64 {
        [self.output, self.cache_read, self.cache_write].into_iter().fold(self.input, u64::saturating_add)
    }

    /// The sum of two calls.
    pub fn plus(self, other: Usage) -> Usage {
        Usage {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            cache_read: self.cache_read.saturating_add(other.cache_read),
            cache_write: self.cache_write.saturating_add(other.cache_write),
        }
    }
}

/// The amounts that a budget limits: tokens and money.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cost {
    /// Tokens of every kind.
    pub tokens: u64,
    /// Millionths of a US dollar.
    pub micros: u64,
}

impl Cost {
    /// Nothing.
    pub const ZERO: Cost = Cost { tokens: 0, micros: 0 };

    /// The sum of two costs.
    pub fn plus(self, other: Cost) -> Cost {
        Cost { tokens: self.tokens.saturating_add(other.tokens), micros: self.micros.saturating_add(other.micros) }
    }

    /// What is left after subtracting `other`, never below zero.
    pub fn minus(self, other: Cost) -> Cost {
        Cost { tokens: self.tokens.saturating_sub(other.tokens), micros: self.micros.saturating_sub(other.micros) }
    }
}

/// A cap on what a task and everything below it may spend. An absent field is not capped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Budget {
    /// Maximum tokens of every kind.
    pub tokens: Option<u64>,
    /// Maximum money, in millionths of a US dollar.
    pub micros: Option<u64>,
}

impl Budget {
    /// The tighter of two caps, field by field.
    pub fn tighter(self, other: Budget) -> Budget {
        let tighter = |a: Option<u64>, b: Option<u64>| a.into_iter().chain(b).min();
        Budget { tokens: tighter(self.tokens, other.tokens), micros: tighter(self.micros, other.micros) }
    }

    /// What is left of the cap after subtracting `cost`, never below zero.
    pub fn minus(self, cost: Cost) -> Budget {
        Budget {
            tokens: self.tokens.map(|cap| cap.saturating_sub(cost.tokens)),
            micros: self.micros.map(|cap| cap.saturating_sub(cost.micros)),
        }
    }

    /// Whether `cost` fits under the cap.
    pub fn allows(self, cost: Cost) -> bool {
        self.tokens.is_none_or(|cap| cost.tokens <= cap) && self.micros.is_none_or(|cap| cost.micros <= cap)
    }
}
