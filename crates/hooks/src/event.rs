//! The names of hook events, in Copilot's and Claude's spelling.

use protocol::{HookDialect, HookEvent};

/// Each event with its names: first Copilot's, which is also Bosun's, then Claude's.
const EVENTS: [(HookEvent, &str, &str); 19] = [
    (HookEvent::SessionStart, "sessionStart", "SessionStart"),
    (HookEvent::SessionEnd, "sessionEnd", "SessionEnd"),
    (HookEvent::UserPromptSubmitted, "userPromptSubmitted", "UserPromptSubmit"),
    (HookEvent::UserPromptTransformed, "userPromptTransformed", "UserPromptTransformed"),
    (HookEvent::PreToolUse, "preToolUse", "PreToolUse"),
    (HookEvent::PreMcpToolCall, "preMcpToolCall", "PreMcpToolCall"),
    (HookEvent::PostToolUse, "postToolUse", "PostToolUse"),
    (HookEvent::PostToolUseFailure, "postToolUseFailure", "PostToolUseFailure"),
    (HookEvent::PermissionRequest, "permissionRequest", "PermissionRequest"),
    (HookEvent::PermissionDenied, "permissionDenied", "PermissionDenied"),
    (HookEvent::SubagentStart, "subagentStart", "SubagentStart"),
    (HookEvent::SubagentStop, "subagentStop", "SubagentStop"),
    (HookEvent::AgentStop, "agentStop", "Stop"),
    (HookEvent::PreCompact, "preCompact", "PreCompact"),
    (HookEvent::Notification, "notification", "Notification"),
    (HookEvent::ErrorOccurred, "errorOccurred", "ErrorOccurred"),
    (HookEvent::TaskCreated, "taskCreated", "TaskCreated"),
    (HookEvent::TaskCompleted, "taskCompleted", "TaskCompleted"),
    (HookEvent::TeammateIdle, "teammateIdle", "TeammateIdle"),
];

/// Events of Copilot or Claude that Bosun does not support.
const UNSUPPORTED_EVENTS: [&str; 19] = [
    "postResult",
    "prePRDescription",
    "PostToolBatch",
    "UserPromptExpansion",
    "StopFailure",
    "PostCompact",
    "PreModelSwitch",
    "PostModelSwitch",
    "Setup",
    "Elicitation",
    "ElicitationResult",
    "ConfigChange",
    "WorktreeCreate",
    "WorktreeRemove",
    "InstructionsLoaded",
    "CwdChanged",
    "FileChanged",
    "DirectoryAdded",
    "MessageDisplay",
];

/// Minimum similarity of two names for a suggestion.
const MIN_SIMILARITY: f64 = 0.8;

/// Whether this version runs hooks on such an event.
pub fn is_supported_event(event: HookEvent) -> bool {
    match event {
        HookEvent::TeammateIdle | HookEvent::Notification => false,
        HookEvent::SessionStart
        | HookEvent::SessionEnd
        | HookEvent::UserPromptSubmitted
        | HookEvent::UserPromptTransformed
        | HookEvent::PreToolUse
        | HookEvent::PreMcpToolCall
        | HookEvent::PostToolUse
        | HookEvent::PostToolUseFailure
        | HookEvent::PermissionRequest
        | HookEvent::PermissionDenied
        | HookEvent::SubagentStart
        | HookEvent::SubagentStop
        | HookEvent::AgentStop
        | HookEvent::PreCompact
        | HookEvent::ErrorOccurred
        | HookEvent::TaskCreated
        | HookEvent::TaskCompleted => true,
    }
}

/// The event with this name in either spelling, if it is supported.
pub fn event_by_name(name: &str) -> Option<HookEvent> {
    match EventNameMatch::resolve(name) {
        EventNameMatch::Event(event, _) => Some(event),
        EventNameMatch::Unsupported | EventNameMatch::Unknown(_) => None,
    }
}

/// The meaning of an event name in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EventNameMatch {
    /// A supported event, and the dialect of its name.
    Event(HookEvent, HookDialect),
    /// An unsupported event.
    Unsupported,
    /// An unknown name, with the most similar known one, if any.
    Unknown(Option<&'static str>),
}

impl EventNameMatch {
    /// Resolves a name. The case of its first letter determines the dialect.
    pub(crate) fn resolve(name: &str) -> EventNameMatch {
        let entry = EVENTS.iter().find_map(|(event, camel, pascal)| match () {
            () if *camel == name => Some((*event, HookDialect::Camel)),
            () if *pascal == name => Some((*event, HookDialect::Snake)),
            () => None,
        });
        match entry.or_else(|| resolve_mixed_spelling(name)) {
            Some((event, dialect)) if is_supported_event(event) => EventNameMatch::Event(event, dialect),
            Some(_) => EventNameMatch::Unsupported,
            None if UNSUPPORTED_EVENTS.contains(&name) => EventNameMatch::Unsupported,
            None => EventNameMatch::Unknown(similar_name(name)),
        }
    }
}

/// Resolves a name of one dialect in the spelling of the other.
fn resolve_mixed_spelling(name: &str) -> Option<(HookEvent, HookDialect)> {
    match name {
        "stop" => Some((HookEvent::AgentStop, HookDialect::Camel)),
        "AgentStop" => Some((HookEvent::AgentStop, HookDialect::Snake)),
        "userPromptSubmit" => Some((HookEvent::UserPromptSubmitted, HookDialect::Camel)),
        "UserPromptSubmitted" => Some((HookEvent::UserPromptSubmitted, HookDialect::Snake)),
        _other => None,
    }
}

fn similar_name(name: &str) -> Option<&'static str> {
    let normalized = name.replace(['_', '-', ' '], "").to_ascii_lowercase();
    let names =
        EVENTS.iter().filter(|(event, ..)| is_supported_event(*event)).flat_map(|(_, camel, pascal)| [*camel, *pascal]);
    let is_upper = |name: &str| name.starts_with(|c: char| c.is_ascii_uppercase());
    // Of two equally similar names, prefer the one in the same dialect.
    let bonus = |known: &str| f64::from(u8::from(is_upper(known) == is_upper(name))) / 1000.0;
    let scored =
        names.map(|known| (strsim::jaro_winkler(&normalized, &known.to_ascii_lowercase()) + bonus(known), known));
    scored.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|(score, _)| *score >= MIN_SIMILARITY).map(|(_, known)| known)
}

/// An event's name in a dialect.
pub(crate) fn event_name(event: HookEvent, dialect: HookDialect) -> &'static str {
    let entry = EVENTS.iter().find(|(known, ..)| *known == event);
    match (entry, dialect) {
        (Some((_, camel, _)), HookDialect::Camel) => camel,
        (Some((_, _, pascal)), HookDialect::Snake) => pascal,
        // Never happens: the table has all events, which a test checks.
        (None, _) => "",
    }
}

/// What a hook's matcher is compared with, for messages; `None` if there is nothing to match.
pub(crate) fn matcher_subject(event: HookEvent) -> Option<&'static str> {
    match event {
        HookEvent::PreToolUse
        | HookEvent::PreMcpToolCall
        | HookEvent::PostToolUse
        | HookEvent::PostToolUseFailure
        | HookEvent::PermissionRequest
        | HookEvent::PermissionDenied => Some("tool"),
        HookEvent::SubagentStart | HookEvent::SubagentStop => Some("agent"),
        HookEvent::SessionStart => Some("source"),
        HookEvent::SessionEnd => Some("reason"),
        HookEvent::PreCompact => Some("trigger"),
        HookEvent::UserPromptSubmitted
        | HookEvent::UserPromptTransformed
        | HookEvent::AgentStop
        | HookEvent::Notification
        | HookEvent::ErrorOccurred
        | HookEvent::TaskCreated
        | HookEvent::TaskCompleted
        | HookEvent::TeammateIdle => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_names_of_both_dialects_resolve() {
        for (event, camel, pascal) in EVENTS {
            assert_eq!((event_name(event, HookDialect::Camel), event_name(event, HookDialect::Snake)), (camel, pascal));
            let resolves =
                |text| matches!(EventNameMatch::resolve(text), EventNameMatch::Event(found, _) if found == event);
            assert_eq!(
                (resolves(camel), resolves(pascal)),
                (is_supported_event(event), is_supported_event(event)),
                "{camel}"
            );
        }
    }

    #[test]
    fn similar_event_names_are_suggested() {
        for (wrong, right) in
            [("preTooluse", "preToolUse"), ("pre_tool_use", "preToolUse"), ("SubAgentStop", "subagentStop")]
        {
            let EventNameMatch::Unknown(Some(meant)) = EventNameMatch::resolve(wrong) else { panic!("{wrong}") };
            assert_eq!(meant.to_ascii_lowercase(), right.to_ascii_lowercase());
        }
        assert_eq!(EventNameMatch::resolve("onMoonrise"), EventNameMatch::Unknown(None));
        assert_eq!(EventNameMatch::resolve("WorktreeCreate"), EventNameMatch::Unsupported);
    }
}
