//! Background work after the answer, and how long a run waits for it.

use std::time::{Duration, Instant};

use client::{StoreError, StoredSession};
use protocol::api::{TaskView, TasksParams};
use protocol::{TaskForm, TaskState};
use runtime::Session;

use crate::print;

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

    /// The time that is waited in any case.
    pub(super) fn minimum(self) -> Duration {
        self.commands.min(self.agents)
    }
}

/// Work that is still running after the answer.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct BackgroundWork {
    /// The names of the agents.
    pub(crate) agents: Vec<String>,
    /// The names of the commands with their descriptions.
    pub(crate) commands: Vec<String>,
}

impl BackgroundWork {
    /// Reads the running work from the session's file.
    pub(crate) fn read(session: &Session) -> Result<BackgroundWork, StoreError> {
        Ok(BackgroundWork::of(
            &StoredSession::open(session.home(), session.id())?.tasks(&TasksParams::all_tasks())?.tasks,
        ))
    }

    fn of(tasks: &[TaskView]) -> BackgroundWork {
        let busy = || tasks.iter().filter(|task| is_busy(&task.state));
        let agents = busy().filter(|task| task.kind.is_subagent());
        let commands = busy().filter(|task| task.kind.form() == TaskForm::Command);
        BackgroundWork {
            agents: agents.map(|task| print::agent_name(&task.path).to_owned()).collect(),
            commands: commands
                .map(|task| format!("{} ({})", print::agent_name(&task.path), task.description))
                .collect(),
        }
    }
}

fn is_busy(state: &TaskState) -> bool {
    match state {
        TaskState::Queued | TaskState::Running | TaskState::Parked { .. } => true,
        TaskState::Idle | TaskState::Interrupted | TaskState::Finished { .. } => false,
    }
}

/// The times that decide how long to wait.
#[derive(Debug, Clone, Copy)]
pub(super) struct BackgroundWaitTimes {
    /// When the answer arrived.
    pub(super) answered_at: Instant,
    /// When the last event arrived.
    pub(super) last_event_at: Instant,
}

/// How to proceed with background work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BackgroundWaitDecision {
    /// Check again at this time.
    Wait(Instant),
    /// The waiting time is over.
    Stop,
}

impl BackgroundWork {
    /// Decides whether to keep waiting.
    pub(super) fn decide(
        &self,
        wait: BackgroundWait,
        times: BackgroundWaitTimes,
        now: Instant,
    ) -> BackgroundWaitDecision {
        let until =
            if self.agents.is_empty() { times.answered_at + wait.commands } else { times.last_event_at + wait.agents };
        if until <= now { BackgroundWaitDecision::Stop } else { BackgroundWaitDecision::Wait(until) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_work(agents: &[&str]) -> BackgroundWork {
        BackgroundWork { agents: agents.iter().map(|path| (*path).to_owned()).collect(), commands: Vec::new() }
    }

    #[test]
    fn agents_are_waited_for_since_their_last_event_and_commands_since_the_answer() {
        let wait = BackgroundWait::from_flag(None);
        let start = Instant::now();
        let after = |secs: u64| start + Duration::from_secs(secs);
        let times = |last_event: u64| BackgroundWaitTimes { answered_at: start, last_event_at: after(last_event) };
        let decide =
            |work: &BackgroundWork, last_event: u64, now: u64| work.decide(wait, times(last_event), after(now));
        let (commands, agents) = (at_work(&[]), at_work(&["a"]));
        assert_eq!(decide(&commands, 29, 29), BackgroundWaitDecision::Wait(after(30)));
        assert_eq!(decide(&commands, 29, 30), BackgroundWaitDecision::Stop);
        assert_eq!(decide(&agents, 0, 599), BackgroundWaitDecision::Wait(after(600)));
        assert_eq!(decide(&agents, 0, 600), BackgroundWaitDecision::Stop);
        assert_eq!(decide(&agents, 500, 1_000), BackgroundWaitDecision::Wait(after(1_100)));
        let given = BackgroundWait::from_flag(Some(Duration::ZERO));
        assert_eq!(agents.decide(given, times(0), after(0)), BackgroundWaitDecision::Stop);
    }
}
