//! Permission modes of the Claude SDK.

use protocol::{PermissionMode, SessionMode};

/// What happens to calls that no rule matches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum ClaudePermissionMode {
    /// The client decides.
    #[default]
    Default,
    /// Changes to files in the workspace are allowed; the client decides on all other calls.
    AcceptEdits,
    /// Nothing is changed until a plan is approved.
    Plan,
    /// Every call is allowed.
    Bypass,
    /// Calls that no rule allows are denied without asking.
    DontAsk,
}

impl ClaudePermissionMode {
    const ALL: [(ClaudePermissionMode, &str); 5] = [
        (ClaudePermissionMode::Default, "default"),
        (ClaudePermissionMode::AcceptEdits, "acceptEdits"),
        (ClaudePermissionMode::Plan, "plan"),
        (ClaudePermissionMode::Bypass, "bypassPermissions"),
        (ClaudePermissionMode::DontAsk, "dontAsk"),
    ];

    /// Parses a mode. `auto`, in which Claude Code lets a model decide, is treated as `default`.
    pub(super) fn parse(text: &str) -> Option<ClaudePermissionMode> {
        let text = if text == "auto" { "default" } else { text };
        ClaudePermissionMode::ALL.into_iter().find(|(_, name)| *name == text).map(|(mode, _)| mode)
    }

    /// The names of all modes.
    pub(super) fn names() -> impl Iterator<Item = &'static str> {
        ClaudePermissionMode::ALL.into_iter().map(|(_, name)| name)
    }

    /// The mode's name in the Claude SDK.
    pub(super) fn as_str(self) -> &'static str {
        ClaudePermissionMode::ALL.into_iter().find(|(mode, _)| *mode == self).map_or("default", |(_, name)| name)
    }

    /// The corresponding permission mode of Bosun.
    pub(super) fn permission_mode(self) -> PermissionMode {
        match self {
            ClaudePermissionMode::Default | ClaudePermissionMode::Plan | ClaudePermissionMode::DontAsk => {
                PermissionMode::Default
            }
            ClaudePermissionMode::AcceptEdits => PermissionMode::AcceptEdits,
            ClaudePermissionMode::Bypass => PermissionMode::AllowAll,
        }
    }

    /// The corresponding session mode.
    pub(super) fn session_mode(self) -> SessionMode {
        match self {
            ClaudePermissionMode::Plan => SessionMode::Plan,
            ClaudePermissionMode::Default
            | ClaudePermissionMode::AcceptEdits
            | ClaudePermissionMode::Bypass
            | ClaudePermissionMode::DontAsk => SessionMode::Interactive,
        }
    }
}
