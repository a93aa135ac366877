//! Permission modes in the family's words.

use protocol::{PermissionMode, SessionMode};

/// What becomes of calls that no rule speaks of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Mode {
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

impl Mode {
    const ALL: [(Mode, &str); 5] = [
        (Mode::Default, "default"),
        (Mode::AcceptEdits, "acceptEdits"),
        (Mode::Plan, "plan"),
        (Mode::Bypass, "bypassPermissions"),
        (Mode::DontAsk, "dontAsk"),
    ];

    /// The mode that a word names. What the family decides by a model of its own is asked here.
    pub(super) fn named(word: &str) -> Option<Mode> {
        let word = if word == "auto" { "default" } else { word };
        Mode::ALL.into_iter().find(|(_, name)| *name == word).map(|(mode, _)| mode)
    }

    /// The family's word for it.
    pub(super) fn word(self) -> &'static str {
        Mode::ALL.into_iter().find(|(mode, _)| *mode == self).map_or("default", |(_, word)| word)
    }

    /// What it is to the permission check.
    pub(super) fn permission(self) -> PermissionMode {
        match self {
            Mode::Default | Mode::Plan | Mode::DontAsk => PermissionMode::Default,
            Mode::AcceptEdits => PermissionMode::AcceptEdits,
            Mode::Bypass => PermissionMode::AllowAll,
        }
    }

    /// What it is to the session.
    pub(super) fn session(self) -> SessionMode {
        match self {
            Mode::Plan => SessionMode::Plan,
            Mode::Default | Mode::AcceptEdits | Mode::Bypass | Mode::DontAsk => SessionMode::Interactive,
        }
    }
}
