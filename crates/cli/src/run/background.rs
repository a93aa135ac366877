//! How long a run waits for background work after the answer.

use std::time::Duration;

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
