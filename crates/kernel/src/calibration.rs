//! What a session has learnt about how its models count tokens.
//!
//! A reservation is based on an estimate. If a provider counts more tokens than estimated, later estimates for the same
//! model are raised by the same factor, so that several requests at once cannot repeat the error.

use std::collections::BTreeMap;

use protocol::{QuotedTokens, TurnQuote, Usage};

/// The largest factor by which an estimate is raised, in thousandths.
const MAX_PERMILLE: u64 = 64_000;

/// What was learnt about each model, by its requested name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TokenCalibration(BTreeMap<String, ModelCalibration>);

/// What was learnt about one model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ModelCalibration {
    /// Tokens that the provider counts for a thousand estimated ones; at least 1000.
    permille: u64,
    /// The length of a long answer, in tokens. Shorter answers lower it slowly.
    output: u64,
}

impl TokenCalibration {
    /// Returns the quote as this model's provider would count it.
    pub(crate) fn adjust(&self, model: &str, quote: TurnQuote) -> TurnQuote {
        let Some(learnt) = self.0.get(model) else {
            return TurnQuote { expected_output: quote.expected_output.min(quote.max_output), ..quote };
        };
        let extra = scale_tokens(quote.estimated, learnt.permille.saturating_sub(1000));
        let expected = u32::try_from(learnt.output.saturating_add(learnt.output / 4))
            .unwrap_or(u32::MAX)
            .max(quote.expected_output);
        TurnQuote { input: quote.input.saturating_add(extra), expected_output: expected.min(quote.max_output), ..quote }
    }

    /// Learns from an answer how the provider counts.
    pub(crate) fn learn(&mut self, model: &str, quoted: QuotedTokens, usage: Usage) {
        let counted = usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write);
        let learnt = self.0.entry(model.to_owned()).or_insert(ModelCalibration { permille: 1000, output: 0 });
        learnt.output = usage.output.max(learnt.output - learnt.output / 8);
        // If only a small part of the input was estimated, the difference says little about the factor.
        let not_estimated = quoted.input.saturating_sub(quoted.estimated);
        if quoted.estimated > 0 && quoted.estimated >= quoted.input / 4 && counted > quoted.input {
            let permille = u128::from(counted - not_estimated) * 1000 / u128::from(quoted.estimated);
            learnt.permille = u64::try_from(permille).unwrap_or(MAX_PERMILLE).clamp(learnt.permille, MAX_PERMILLE);
        }
    }

    /// Whether a model of the same provider has answered.
    pub(crate) fn has_provider_answered(&self, model: &str) -> bool {
        let provider = |name: &str| name.split('/').next().unwrap_or(name).to_owned();
        self.0.keys().any(|known| provider(known) == provider(model))
    }
}

fn scale_tokens(tokens: u64, permille: u64) -> u64 {
    u64::try_from((u128::from(tokens) * u128::from(permille)).div_ceil(1000)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use protocol::Cost;

    use super::*;

    const QUOTE: TurnQuote = TurnQuote {
        input: 1_000,
        estimated: 1_000,
        min_output: 10,
        expected_output: 100,
        max_output: 900,
        price: None,
        last_turn_reserve: Cost::ZERO,
    };

    fn quoted(input: u64, estimated: u64) -> QuotedTokens {
        QuotedTokens { input, estimated, output: 100 }
    }

    #[test]
    fn only_the_estimated_part_of_the_input_is_raised() {
        let mut calibration = TokenCalibration::default();
        assert_eq!(calibration.adjust("p/m", QUOTE), QUOTE);
        calibration.learn("p/m", quoted(1_000, 1_000), Usage { input: 2_500, output: 10, ..Usage::default() });
        assert_eq!(calibration.adjust("p/m", QUOTE).input, 2_500);
        assert_eq!(calibration.adjust("p/m", TurnQuote { input: 3_000, estimated: 100, ..QUOTE }).input, 3_150);
        assert_eq!(calibration.adjust("p/other", QUOTE).input, 1_000);
        // A later answer that was counted as estimated does not lower the factor.
        calibration.learn("p/m", quoted(1_000, 1_000), Usage { input: 900, output: 10, ..Usage::default() });
        assert_eq!(calibration.adjust("p/m", QUOTE).input, 2_500);
        calibration.learn("p/m", quoted(1_000, 1_000), Usage { input: u64::MAX, ..Usage::default() });
        assert_eq!(calibration.adjust("p/m", QUOTE).input, 64_000);
    }

    #[test]
    fn after_a_long_answer_long_answers_are_expected_for_a_while() {
        let mut calibration = TokenCalibration::default();
        calibration.learn("p/m", quoted(1, 0), Usage { output: 400, ..Usage::default() });
        assert_eq!(calibration.adjust("p/m", QUOTE).expected_output, 500);
        for _ in 0..30 {
            calibration.learn("p/m", quoted(1, 0), Usage { output: 8, ..Usage::default() });
        }
        assert_eq!(calibration.adjust("p/m", QUOTE).expected_output, 100);
        calibration.learn("p/m", quoted(1, 0), Usage { output: u64::MAX, ..Usage::default() });
        assert_eq!(calibration.adjust("p/m", QUOTE).expected_output, 900);
    }

    #[test]
    fn a_provider_is_known_by_any_of_its_models() {
        let mut calibration = TokenCalibration::default();
        assert!(!calibration.has_provider_answered("p/m"));
        calibration.learn("p/m", quoted(1, 0), Usage::default());
        assert!(calibration.has_provider_answered("p/n") && !calibration.has_provider_answered("q/m"));
    }
}
