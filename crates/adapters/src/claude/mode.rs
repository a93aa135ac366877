//! Permission modes in the family's words.

use protocol::{PermissionMode, SessionMode};

/// What becomes of calls that no rule speaks of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum ClaudePermissionMode {
    /// The client is asked.
    #[default]
    Default,
    /// Files of the workspace may be changed; the client is asked about the rest.
    AcceptEdits,
    /// Nothing is changed until a plan is approved.
    Plan,
    /// Everything may be done.
    Bypass,
    /// What is not allowed is denied, and nobody is asked.
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

    /// The mode that a word names. What the family decides by a model of its own is asked here.
    pub(super) fn parse(word: &str) -> Option<ClaudePermissionMode> {
        let word = if word == "auto" { "default" } else { word };
        ClaudePermissionMode::ALL.into_iter().find(|(_, name)| *name == word).map(|(mode, _)| mode)
    }

    /// The family's word for it.
    pub(super) fn as_str(self) -> &'static str {
        ClaudePermissionMode::ALL.into_iter().find(|(mode, _)| *mode == self).map_or("default", |(_, word)| word)
    }

    /// What it is to the permission check.
    pub(super) fn permission_mode(self) -> PermissionMode {
        match self {
            ClaudePermissionMode::Default | ClaudePermissionMode::Plan | ClaudePermissionMode::DontAsk => {
                PermissionMode::Default
            }
            ClaudePermissionMode::AcceptEdits => PermissionMode::AcceptEdits,
            ClaudePermissionMode::Bypass => PermissionMode::AllowAll,
        }
    }

    /// What it is to the session.
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
