//! The reasoning efforts of the SDK families.

use protocol::ReasoningEffort;

/// Bosun's reasoning effort for that of an SDK family; `None` for a value that neither family has.
pub(crate) fn bosun_effort(value: &str) -> Option<ReasoningEffort> {
    match value {
        "low" | "minimal" => Some(ReasoningEffort::Low),
        "medium" => Some(ReasoningEffort::Medium),
        "high" | "xhigh" | "max" => Some(ReasoningEffort::High),
        _other => None,
    }
}
