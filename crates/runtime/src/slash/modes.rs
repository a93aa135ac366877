//! Where commands change the session's mode.

use protocol::api::SlashMode;

use crate::agent::Desk;

/// What changes a session's mode; an objective comes with autopilot.
pub(super) trait Modes {
    /// Changes the mode, or says why it cannot.
    async fn enter(&self, mode: SlashMode, objective: Option<&str>) -> Result<(), String>;
}

impl Modes for Desk {
    async fn enter(&self, mode: SlashMode, _objective: Option<&str>) -> Result<(), String> {
        match mode {
            SlashMode::Plan | SlashMode::Autopilot | SlashMode::Interactive => {
                Err("modes are not in this version".into())
            }
        }
    }
}
