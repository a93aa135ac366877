//! The session's fleet, for a client in this process.

use std::path::PathBuf;

use super::Session;
use crate::fleet::{FleetError, FleetHandle, FleetRequest};

impl Session {
    /// Starts a fleet, which works until no todo is left that it can do. A request without a goal and a plan continues
    /// an unfinished fleet.
    pub async fn start_fleet(&self, request: FleetRequest) -> Result<FleetHandle, FleetError> {
        self.context.fleet.start(request).await
    }

    /// Resumes the session's latest fleet. An ended fleet starts again with its configuration and blocked todos. Changes
    /// to the excluded files do not make earlier results stale.
    pub async fn resume_fleet(&self, excluded: Vec<PathBuf>) -> Result<FleetHandle, FleetError> {
        self.context.fleet.resume(excluded).await
    }

    /// The latest fleet that this process drives or has driven.
    pub fn latest_fleet(&self) -> Option<FleetHandle> {
        self.context.fleet.latest()
    }
}
