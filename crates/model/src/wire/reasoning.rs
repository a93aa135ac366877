//! Knows which models reason.

/// Whether the model reasons. OpenAI's other models reject an effort, and requests for their reasoning.
pub(super) fn can_reason(model: &str) -> bool {
    !["gpt-3.5", "gpt-4", "chatgpt-4"].iter().any(|old| model.contains(old))
}
