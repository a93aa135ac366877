//! List prices, context windows and maximum answers of well-known models, as published by their vendors.
//!
//! A model that is not listed has no known price; prices are never guessed. Where a price rises with the length of the
//! prompt, `context` ends there: the prompt up to that point plus the longest answer. The user's file takes precedence
//! over the table.

use std::collections::BTreeMap;

use protocol::Price;

use crate::{ModelListing, Provider, WireFormat};

/// The day on which the table was compared with the published prices.
pub const AS_OF: &str = "2026-11-15";

/// The known models of the vendor behind a wire format, by name.
pub fn price_table(wire: WireFormat) -> BTreeMap<String, ModelListing> {
    let rows = match wire {
        WireFormat::Anthropic => ANTHROPIC,
        WireFormat::Responses | WireFormat::Chat => OPENAI,
    };
    rows.iter().map(|row| (row.0.to_owned(), to_listing(row))).collect()
}

impl Provider {
    /// The listing of a model: by its name, or by the name without the date that a vendor adds.
    pub fn listing(&self, name: &str) -> ModelListing {
        let listing = self.find(name).copied().unwrap_or_default();
        ModelListing { price: listing.price.or(self.is_free.then(Price::default)), ..listing }
    }

    /// The entry of a model, if there is one.
    pub(crate) fn find(&self, name: &str) -> Option<&ModelListing> {
        self.models.get(name).or_else(|| self.models.get(without_date(name)?))
    }
}

/// The name before `-20250929` or `-2025-08-07`.
fn without_date(name: &str) -> Option<&str> {
    ["-dddddddd", "-dddd-dd-dd"].iter().find_map(|form| {
        let (bare, end) = name.split_at_checked(name.len().checked_sub(form.len())?)?;
        let fits = |(c, form): (char, char)| if form == 'd' { c.is_ascii_digit() } else { c == form };
        end.chars().zip(form.chars()).all(fits).then_some(bare)
    })
}

/// A name; prices of input, output, cache reads and cache writes in millionths of a dollar for a million tokens;
/// thousands of tokens in the window and in the longest answer.
type PriceRow = (&'static str, [u64; 4], u64, u32);

fn to_listing(&(_, [input, output, cache_read, cache_write], context, max_output): &PriceRow) -> ModelListing {
    ModelListing {
        price: Some(Price { input, output, cache_read, cache_write }),
        context_tokens: Some(context * 1_000),
        max_output_tokens: Some(max_output * 1_000),
    }
}

/// Cache writes are the five-minute ones.
#[rustfmt::skip]
const ANTHROPIC: &[PriceRow] = &[
    ("claude-fable-5-1",  [10_000_000, 50_000_000,   250_000, 12_500_000], 1_000, 128),
    ("claude-fable-5",    [10_000_000, 50_000_000, 1_000_000, 12_500_000], 1_000, 128),
    ("claude-opus-5-5",   [ 4_000_000, 20_000_000,   200_000,  5_000_000], 1_000, 128),
    ("claude-opus-5",     [ 5_000_000, 25_000_000,   500_000,  6_250_000], 1_000, 128),
    ("claude-opus-4-8",   [ 5_000_000, 25_000_000,   500_000,  6_250_000], 1_000, 128),
    ("claude-opus-4-7",   [ 5_000_000, 25_000_000,   500_000,  6_250_000], 1_000, 128),
    ("claude-opus-4-6",   [ 5_000_000, 25_000_000,   500_000,  6_250_000], 1_000, 128),
    ("claude-opus-4-5",   [ 5_000_000, 25_000_000,   500_000,  6_250_000],   200,  64),
    ("claude-sonnet-5-5", [ 2_000_000, 10_000_000,   100_000,  2_500_000], 1_000, 128),
    ("claude-sonnet-5",   [ 2_000_000, 10_000_000,   200_000,  2_500_000], 1_000, 128),
    ("claude-sonnet-4-6", [ 3_000_000, 15_000_000,   300_000,  3_750_000], 1_000,  64),
    ("claude-sonnet-4-5", [ 3_000_000, 15_000_000,   300_000,  3_750_000],   200,  64),
    // Five times as much for prompts over 100,000 tokens.
    ("claude-haiku-5-5",  [   100_000,    500_000,    10_000,    125_000],   228, 128),
    ("claude-haiku-4-5",  [ 1_000_000,  5_000_000,   100_000,  1_250_000],   200,  64),
];

/// Models without a separate price for cache writes count them as input. Models with a window of more than a million
/// tokens cost twice as much for prompts over 272,000, so their window ends there.
#[rustfmt::skip]
const OPENAI: &[PriceRow] = &[
    ("gpt-6.1-sol",   [ 2_000_000, 10_000_000,   100_000,  2_500_000], 400, 128),
    ("gpt-6.1-terra", [ 1_000_000,  5_000_000,    50_000,  1_250_000], 400, 128),
    ("gpt-6-astra",   [10_000_000, 50_000_000, 1_000_000, 12_500_000], 400, 128),
    ("gpt-6-sol",     [ 2_000_000, 10_000_000,   200_000,  2_500_000], 400, 128),
    ("gpt-6-luna",    [   100_000,    500_000,    10_000,    125_000], 400, 128),
    ("gpt-5.6-sol",   [ 4_000_000, 20_000_000,   400_000,  5_000_000], 400, 128),
    ("gpt-5.6-terra", [ 2_000_000, 12_000_000,   200_000,  2_500_000], 400, 128),
    ("gpt-5.6-luna",  [   200_000,  1_200_000,    20_000,    250_000], 400, 128),
    ("gpt-5.5",       [ 5_000_000, 30_000_000,   500_000,  5_000_000], 400, 128),
    ("gpt-5.4",       [ 2_500_000, 15_000_000,   250_000,  2_500_000], 400, 128),
    ("gpt-5.4-mini",  [   750_000,  4_500_000,    75_000,    750_000], 400, 128),
    ("gpt-5.4-nano",  [   200_000,  1_250_000,    20_000,    200_000], 400, 128),
    ("gpt-5.3-codex", [ 1_750_000, 14_000_000,   175_000,  1_750_000], 400, 128),
    ("gpt-5.2",       [ 1_750_000, 14_000_000,   175_000,  1_750_000], 400, 128),
    ("gpt-5.1",       [ 1_250_000, 10_000_000,   125_000,  1_250_000], 400, 128),
    ("gpt-5",         [ 1_250_000, 10_000_000,   125_000,  1_250_000], 400, 128),
    ("gpt-5-mini",    [   250_000,  2_000_000,    25_000,    250_000], 400, 128),
    ("gpt-5-nano",    [    50_000,    400_000,     5_000,     50_000], 400, 128),
    ("gpt-4.1",       [ 2_000_000,  8_000_000,   500_000,  2_000_000], 1_047, 32),
    ("gpt-4.1-mini",  [   400_000,  1_600_000,   100_000,    400_000], 1_047, 32),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ProviderKey;

    fn provider(wire: WireFormat) -> Provider {
        Provider { models: price_table(wire), ..Provider::new(wire, "", ProviderKey::NotNeeded) }
    }

    #[test]
    fn a_model_is_found_by_its_name_with_or_without_a_date() {
        let anthropic = provider(WireFormat::Anthropic);
        let sonnet = anthropic.listing("claude-sonnet-4-5");
        assert_eq!(sonnet.price.map(|price| price.output), Some(15_000_000));
        assert_eq!(anthropic.listing("claude-sonnet-4-5-20250929"), sonnet);
        assert_ne!(anthropic.listing("claude-sonnet-5-5"), anthropic.listing("claude-sonnet-5"));
        let openai = provider(WireFormat::Responses);
        assert_eq!(openai.listing("gpt-5-2025-08-07"), openai.listing("gpt-5"));
        assert_ne!(openai.listing("gpt-5-mini"), openai.listing("gpt-5"));
        for unknown in ["gpt-5-pro", "gpt-5-2025", "gpt-5-", "gpt", "", "gpt-5.4-cyber", "-20250807", "claude-opus-5"] {
            assert_eq!(openai.listing(unknown), ModelListing::default(), "{unknown}");
        }
    }

    #[test]
    fn the_table_is_consistent() {
        for row in ANTHROPIC.iter().chain(OPENAI) {
            let (name, [input, output, read, write], context, longest) = *row;
            assert!(read < input && input <= write && write < output, "{name}");
            assert!(u64::from(longest) < context, "{name}");
            assert_eq!(without_date(name), None, "{name} would be taken for a date");
        }
        assert_eq!(
            price_table(WireFormat::Anthropic).len() + price_table(WireFormat::Chat).len(),
            ANTHROPIC.len() + OPENAI.len()
        );
    }

    #[test]
    fn dates_are_distinguished_from_versions() {
        assert_eq!(without_date("x-20250929"), Some("x"));
        assert_eq!(without_date("gpt-5-2025-08-07"), Some("gpt-5"));
        for whole in ["claude-opus-4-5", "gpt-4-0613", "x-2025-8-7", "20250929", "é-2025092"] {
            assert_eq!(without_date(whole), None, "{whole}");
        }
    }
}
