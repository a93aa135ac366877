//! Where commands change the session's mode.

use protocol::api::SlashMode;

use super::Dispatcher;

/// What changes a session's mode.
pub(super) trait Modes {
    /// Changes the mode from the next turn on, or says why it cannot.
    async fn enter(&self, mode: SlashMode) -> Result<(), String>;
}

impl Modes for Dispatcher<'_> {
    async fn enter(&self, mode: SlashMode) -> Result<(), String> {
        match mode {
            SlashMode::Plan | SlashMode::Autopilot | SlashMode::Interactive => Err("it is not in this version".into()),
        }
    }
}
