//! The names of background work.

use client::{BackgroundWork, SessionHandle, StoreError};
use protocol::api::TaskView;

use crate::print;

/// The names of background work.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct BackgroundNames {
    /// The names of the agents.
    pub agents: Vec<String>,
    /// The names of the commands with their descriptions.
    pub commands: Vec<String>,
}

impl BackgroundNames {
    /// Reads the running work from the session's file.
    pub fn read(session: &SessionHandle) -> Result<BackgroundNames, StoreError> {
        Ok(session.background_work()?.into())
    }
}

impl From<BackgroundWork> for BackgroundNames {
    fn from(BackgroundWork { agents, commands }: BackgroundWork) -> BackgroundNames {
        let name = |task: &TaskView| print::agent_name(&task.path).to_owned();
        let described = |task: &TaskView| format!("{} ({})", print::agent_name(&task.path), task.description);
        BackgroundNames {
            agents: agents.iter().map(name).collect(),
            commands: commands.iter().map(described).collect(),
        }
    }
}
