//! What a run still waits for after its answer, and for how long.

use std::time::{Duration, Instant};

use protocol::api::{TaskView, TasksParams};
use protocol::{Kind, TaskState};
use runtime::Session;
use store::{Reader, StoreError};

/// How long commands may go on: many serve for ever.
const COMMANDS: Duration = Duration::from_secs(30);

/// How long agents may be silent: one call of theirs may take minutes.
const AGENTS: Duration = Duration::from_mins(10);

/// How long a run waits for background work after the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Leeway {
    /// For commands, from the answer on.
    pub(crate) commands: Duration,
    /// For agents, from what was last heard.
    pub(crate) agents: Duration,
}

impl Leeway {
    /// What is usual, unless somebody said how long.
    pub(crate) fn of(given: Option<Duration>) -> Leeway {
        Leeway { commands: given.unwrap_or(COMMANDS), agents: given.unwrap_or(AGENTS) }
    }

    /// How long is waited in any case.
    pub(super) fn least(self) -> Duration {
        self.commands.min(self.agents)
    }
}

/// What is at work after the answer.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct AtWork {
    /// The paths of the agents.
    pub(crate) agents: Vec<String>,
    /// The paths of the commands, with what they are.
    pub(crate) commands: Vec<String>,
}

impl AtWork {
    /// Reads it from the session's own rows.
    pub(crate) fn read(session: &Session) -> Result<AtWork, StoreError> {
        Ok(AtWork::of(&Reader::open(session.home(), session.id())?.tasks(&TasksParams::every())?.tasks))
    }

    fn of(tasks: &[TaskView]) -> AtWork {
        let of = |kind: Kind| tasks.iter().filter(move |task| task.kind == kind && is_busy(&task.state));
        AtWork {
            agents: of(Kind::Agent).map(|task| task.path.clone()).collect(),
            commands: of(Kind::Shell).map(|task| format!("{} ({})", task.path, task.description)).collect(),
        }
    }
}

fn is_busy(state: &TaskState) -> bool {
    match state {
        TaskState::Queued | TaskState::Running | TaskState::Parked { .. } => true,
        TaskState::Idle | TaskState::Interrupted | TaskState::Finished { .. } => false,
    }
}

/// The times that decide how long is waited.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    /// When the answer was there.
    pub(super) since: Instant,
    /// When anything was last heard.
    pub(super) heard: Instant,
}

/// What is to be done about background work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Look again then.
    Wait(Instant),
    /// It took too long.
    Stop,
}

impl AtWork {
    /// What to do at this moment.
    pub(super) fn judge(&self, leeway: Leeway, times: Times, now: Instant) -> Verdict {
        let until = if self.agents.is_empty() { times.since + leeway.commands } else { times.heard + leeway.agents };
        if until <= now { Verdict::Stop } else { Verdict::Wait(until) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_work(agents: &[&str]) -> AtWork {
        AtWork { agents: agents.iter().map(|path| (*path).to_owned()).collect(), commands: Vec::new() }
    }

    #[test]
    fn q44_agents_are_waited_for_as_long_as_they_are_heard_and_commands_from_the_answer_on() {
        let leeway = Leeway::of(None);
        let since = Instant::now();
        let after = |secs: u64| since + Duration::from_secs(secs);
        let times = |heard: u64| Times { since, heard: after(heard) };
        let judge = |work: &AtWork, heard: u64, now: u64| work.judge(leeway, times(heard), after(now));
        let (commands, agents) = (at_work(&[]), at_work(&["/root/a"]));
        assert_eq!(judge(&commands, 29, 29), Verdict::Wait(after(30)));
        assert_eq!(judge(&commands, 29, 30), Verdict::Stop);
        assert_eq!(judge(&agents, 0, 599), Verdict::Wait(after(600)));
        assert_eq!(judge(&agents, 0, 600), Verdict::Stop);
        assert_eq!(judge(&agents, 500, 1_000), Verdict::Wait(after(1_100)));
        let given = Leeway::of(Some(Duration::ZERO));
        assert_eq!(agents.judge(given, times(0), after(0)), Verdict::Stop);
    }
}
