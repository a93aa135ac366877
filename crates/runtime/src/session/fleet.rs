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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use host::Home;
    use protocol::FleetConfig;

    use super::*;
    use crate::{SessionSettings, SessionStart};

    #[tokio::test]
    async fn a_session_without_a_runner_refuses_every_fleet() {
        let folder = tempfile::tempdir().unwrap();
        let model = model::ScriptModel::parse("version: 1\nrules: [{ answer: [say: done] }]\n", "test.yaml").unwrap();
        let home = Home::open(folder.path().join("home")).unwrap();
        let settings = SessionSettings::minimal(home, folder.path().to_owned(), Arc::new(model), "script/test.yaml");
        let session = Session::open(settings, SessionStart::New).await.unwrap();
        let started = session.start_fleet(FleetRequest::new(FleetConfig::for_goal("bake"))).await;
        assert!(matches!(started, Err(FleetError::NoRunner)), "{started:?}");
        assert!(matches!(session.resume_fleet(Vec::new()).await, Err(FleetError::NoRunner)));
        let refused = session.dispatch("/fleet bake").await.refusal();
        assert_eq!(
            refused.map(protocol::Refusal::in_one_line).as_deref(),
            Some("/fleet: this program cannot run fleets")
        );
        assert!(session.latest_fleet().is_none() && session.status().borrow().quiet);
        session.leave().await.unwrap();
    }
}
