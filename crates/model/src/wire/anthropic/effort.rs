//! The reasoning effort, in the two forms of Anthropic's models.
//!
//! Models up to 4.5 and those of compatible servers accept a number of tokens; later ones reject it and accept a word.

use protocol::ReasoningEffort;
use serde::Serialize;

/// The request fields for the reasoning effort.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct ThinkingFields {
    /// Whether to think at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) thinking: Option<ThinkingConfig>,
    /// The effort, for models that decide by themselves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) output_config: Option<OutputConfig>,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ThinkingConfig {
    Enabled { budget_tokens: u32 },
    Adaptive { display: &'static str },
}

#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct OutputConfig {
    effort: &'static str,
}

/// The minimum that the provider accepts.
const MIN_BUDGET_TOKENS: u32 = 1024;

/// Claude models that accept only a number of tokens.
const TOKEN_BUDGET_MODELS: [&str; 11] = [
    "claude-2",
    "claude-3",
    "claude-opus-4-0",
    "claude-opus-4-1",
    "claude-opus-4-2",
    "claude-opus-4-5",
    "claude-sonnet-4-0",
    "claude-sonnet-4-2",
    "claude-sonnet-4-5",
    "claude-haiku-4",
    "claude-instant",
];

/// The fields for `model`. A budget that would not fit beside the answer is left out.
pub(super) fn thinking_fields(model: &str, effort: Option<ReasoningEffort>, max_tokens: u32) -> ThinkingFields {
    let Some(effort) = effort else { return ThinkingFields::default() };
    let (level, tokens) = match effort {
        ReasoningEffort::Low => ("low", 2_048),
        ReasoningEffort::Medium => ("medium", 8_192),
        ReasoningEffort::High => ("high", 24_576),
    };
    if !takes_token_budget(model) {
        let thinking = Some(ThinkingConfig::Adaptive { display: "summarized" });
        return ThinkingFields { thinking, output_config: Some(OutputConfig { effort: level }) };
    }
    // A quarter is left for the text.
    let budget_tokens = tokens.min(max_tokens - max_tokens / 4);
    let fits = budget_tokens >= MIN_BUDGET_TOKENS && budget_tokens < max_tokens;
    ThinkingFields { thinking: fits.then_some(ThinkingConfig::Enabled { budget_tokens }), output_config: None }
}

fn takes_token_budget(model: &str) -> bool {
    let model = model.to_ascii_lowercase().replace(['.', '@'], "-");
    // Some servers add a suffix to the name.
    let model = model.split_once(':').map_or(model.as_str(), |(name, _)| name);
    let is_first_of_fours = model.ends_with("claude-opus-4") || model.ends_with("claude-sonnet-4");
    !model.contains("claude") || is_first_of_fours || TOKEN_BUDGET_MODELS.iter().any(|name| model.contains(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(model: &str, max_tokens: u32) -> String {
        serde_json::to_string(&thinking_fields(model, Some(ReasoningEffort::High), max_tokens)).unwrap()
    }

    #[test]
    fn older_models_get_a_number_and_newer_ones_a_word() {
        let number = r#"{"thinking":{"type":"enabled","budget_tokens":6144}}"#;
        for model in
            ["claude-sonnet-4-5", "claude-opus-4-20250514", "claude-3-7-sonnet-latest", "claude-haiku-4.5", "glm-5"]
        {
            assert_eq!(json(model, 8192), number, "{model}");
        }
        for model in ["claude-opus-4", "anthropic/claude-sonnet-4:beta", "claude-sonnet-4@20250514"] {
            assert_eq!(json(model, 8192), number, "{model}");
        }
        let word = r#"{"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"high"}}"#;
        for model in ["claude-opus-4-6", "claude-sonnet-5", "claude-opus-5-5", "anthropic/claude-haiku-5-5"] {
            assert_eq!(json(model, 8192), word, "{model}");
        }
    }

    #[test]
    fn a_budget_that_does_not_fit_is_left_out() {
        assert_eq!(json("claude-sonnet-4-5", 1024), "{}");
        assert_eq!(json("claude-sonnet-4-5", 0), "{}");
        assert_eq!(thinking_fields("claude-opus-5", None, 8192), ThinkingFields::default());
        assert_eq!(json("claude-sonnet-4-5", u32::MAX), r#"{"thinking":{"type":"enabled","budget_tokens":24576}}"#);
    }
}
