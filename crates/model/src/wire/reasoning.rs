//! Which models think before they answer.

/// Whether the model does; OpenAI's that do not refuse to be asked how hard, or for their reasoning.
pub(super) fn can_reason(model: &str) -> bool {
    !["gpt-3.5", "gpt-4", "chatgpt-4"].iter().any(|old| model.contains(old))
}
