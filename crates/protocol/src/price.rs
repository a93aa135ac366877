//! Token prices, and the estimated cost of a model request before it is sent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Budget, Cost, Usage};

/// Prices of a model's tokens, in millionths of a US dollar per million tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Price {
    /// Uncached input tokens.
    pub input: u64,
    /// Output tokens, including reasoning.
    pub output: u64,
    /// Input tokens read from the provider's cache.
    pub cache_read: u64,
    /// Input tokens written to the provider's cache.
    pub cache_write: u64,
}

impl Price {
    /// The cost of `usage` in millionths of a US dollar, rounded up.
    pub fn cost(self, usage: Usage) -> u64 {
        cost_micros(&[
            (usage.input, self.input),
            (usage.output, self.output),
            (usage.cache_read, self.cache_read),
            (usage.cache_write, self.cache_write),
        ])
    }

    /// Whether tokens cost nothing.
    pub fn is_free(self) -> bool {
        self == Price::default()
    }

    /// The highest possible cost of so many tokens: all input is charged at the highest input price.
    pub fn max_cost(self, input: u64, output: u64) -> u64 {
        let highest = self.input.max(self.cache_read).max(self.cache_write);
        cost_micros(&[(input, highest), (output, self.output)])
    }
}

/// Adds up pairs of tokens and price.
fn cost_micros(parts: &[(u64, u64)]) -> u64 {
    let sum: u128 = parts.iter().map(|(tokens, price)| u128::from(*tokens) * u128::from(*price)).sum();
    u64::try_from(sum.div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

/// An estimate of what one model request may use, made before it is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnQuote {
    /// Maximum input tokens.
    pub input: u64,
    /// The minimum output tokens that make the request worthwhile.
    pub min_output: u32,
    /// The expected output tokens; the reservation is raised while a longer answer arrives.
    pub expected_output: u32,
    /// The maximum output tokens to request.
    pub max_output: u32,
    /// The input tokens that are only estimated, because no provider has counted them.
    pub estimated: u64,
    /// The price of the tokens, if known.
    pub price: Option<Price>,
    /// The part of the budget that must remain for a last turn.
    pub last_turn_reserve: Cost,
}

impl TurnQuote {
    /// Its highest cost with this much output.
    pub fn cost(self, output: u32) -> Cost {
        let tokens = self.input.saturating_add(output.into());
        Cost { tokens, micros: self.price.map_or(0, |price| price.max_cost(self.input, output.into())) }
    }

    /// The most output tokens that fit into `room`, up to `max_output`; none if `min_output` does not fit.
    pub fn fitting_output(self, room: Budget) -> Option<u32> {
        let fits = |output: u32| room.allows(self.cost(output));
        if fits(self.max_output) {
            return Some(self.max_output);
        }
        let (mut fitting, mut too_much) = (self.min_output, self.max_output);
        if self.min_output > self.max_output || !fits(fitting) {
            return None;
        }
        while too_much - fitting > 1 {
            let middle = fitting + (too_much - fitting) / 2;
            if fits(middle) { fitting = middle } else { too_much = middle }
        }
        Some(fitting)
    }
}

/// The tokens that a reservation covers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QuotedTokens {
    /// Input tokens, as estimated.
    pub input: u64,
    /// The input tokens that no provider had counted before.
    pub estimated: u64,
    /// Output tokens.
    pub output: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRICE: Price = Price { input: 3_000_000, output: 15_000_000, cache_read: 300_000, cache_write: 3_750_000 };

    #[test]
    fn a_cost_includes_all_kinds_of_tokens_and_is_rounded_up() {
        let usage = Usage { input: 1_000, output: 100, cache_read: 10_000, cache_write: 2_000 };
        assert_eq!(PRICE.cost(usage), 3_000 + 1_500 + 3_000 + 7_500);
        assert_eq!(Price { input: 1, ..Price::default() }.cost(Usage { input: 1, ..Usage::default() }), 1);
        assert_eq!(PRICE.cost(Usage { input: u64::MAX, output: u64::MAX, ..Usage::default() }), u64::MAX);
    }

    #[test]
    fn no_kind_of_input_costs_more_than_the_highest_cost() {
        for usage in [
            Usage { input: 500, output: 7, ..Usage::default() },
            Usage { cache_read: 500, output: 7, ..Usage::default() },
            Usage { cache_write: 499, input: 1, output: 7, ..Usage::default() },
        ] {
            assert!(PRICE.cost(usage) <= PRICE.max_cost(500, 7), "{usage:?}");
        }
    }

    #[test]
    fn output_is_reduced_to_fit_but_not_below_the_minimum() {
        let quote = TurnQuote {
            input: 100,
            estimated: 100,
            min_output: 10,
            expected_output: 50,
            max_output: 1_000,
            price: Some(PRICE),
            last_turn_reserve: Cost::ZERO,
        };
        let tokens = |tokens| Budget { tokens: Some(tokens), micros: None };
        assert_eq!(quote.fitting_output(Budget::default()), Some(1_000));
        assert_eq!(quote.fitting_output(tokens(1_100)), Some(1_000));
        assert_eq!(quote.fitting_output(tokens(1_099)), Some(999));
        assert_eq!((quote.fitting_output(tokens(110)), quote.fitting_output(tokens(109))), (Some(10), None));
        let micros = |micros| Budget { tokens: None, micros: Some(micros) };
        assert_eq!(
            (quote.fitting_output(micros(375 + 150)), quote.fitting_output(micros(375 + 149))),
            (Some(10), None)
        );
        assert_eq!(quote.fitting_output(micros(375 + 164)), Some(10));
        assert_eq!(quote.fitting_output(Budget { tokens: Some(0), micros: Some(0) }), None);
    }
}
