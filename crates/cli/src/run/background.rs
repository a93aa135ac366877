//! How long a run waits for background work after the answer, and the names of that work.

use std::time::Duration;

use client::{BackgroundWork, SessionHandle, StoreError};
use protocol::api::TaskView;
use tui::print;

/// How long commands may keep running: many never end.
const COMMAND_WAIT: Duration = Duration::from_secs(30);

/// How long agents may be silent: one of their calls may take minutes.
const AGENT_SILENCE_WAIT: Duration = Duration::from_mins(10);

/// How long a run waits for background work after the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BackgroundWait {
    /// For commands, counted from the answer.
    pub(crate) commands: Duration,
    /// For agents, counted from their last event.
    pub(crate) agents: Duration,
}

impl BackgroundWait {
    /// The given time, or the defaults.
    pub(crate) fn from_flag(given: Option<Duration>) -> BackgroundWait {
        BackgroundWait { commands: given.unwrap_or(COMMAND_WAIT), agents: given.unwrap_or(AGENT_SILENCE_WAIT) }
    }
}

/// The names of background work.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct BackgroundNames {
    /// The names of the agents.
    pub(crate) agents: Vec<String>,
    /// The names of the commands with their descriptions.
    pub(crate) commands: Vec<String>,
}

impl BackgroundNames {
    /// Reads the running work from the session's file.
    pub(crate) fn read(session: &SessionHandle) -> Result<BackgroundNames, StoreError> {
        Ok(session.stored()?.background_work()?.into())
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
