//! Where a rule goes that a person gave with "always".

/// Keeps the rule, and says how long it holds. The session itself follows it already.
pub(super) fn remember(rule: &str) -> String {
    format!("`{rule}` is allowed for the rest of this session")
}
