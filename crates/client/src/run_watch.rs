//! Decides when a run without a person is over. The command line, `session.wait` and every other client that waits for
//! the end of a run ask it. Decisions get the time, the phase and the work as arguments.

use std::time::{Duration, Instant};

use protocol::TaskForm;
use protocol::api::{ParkingView, RunPhase, SessionWaitEnd, SessionWaitParams, TaskView};

/// How long stopped work may take before it is checked again.
const RECHECK_INTERVAL: Duration = Duration::from_millis(100);

/// How long a run waits; without a limit, for as long as it takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RunWaitLimits {
    /// For commands, counted from the root's answer: many never end.
    pub commands: Option<Duration>,
    /// For agents, counted from the last event: one of their calls may take minutes.
    pub agents: Option<Duration>,
    /// For a quota to reset.
    pub park: Option<Duration>,
    /// For a quota to reset, counted from the start of the run. Agents at work end at this time by themselves.
    pub run: Option<Duration>,
}

impl From<SessionWaitParams> for RunWaitLimits {
    fn from(params: SessionWaitParams) -> RunWaitLimits {
        let SessionWaitParams { timeout_ms: _, commands_ms, agents_ms, park_ms } = params;
        let [commands, agents, park] = [commands_ms, agents_ms, park_ms].map(|limit| limit.map(Duration::from_millis));
        RunWaitLimits { commands, agents, park, run: None }
    }
}

/// Work that continues after the root's answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BackgroundWork {
    /// The agents, and the tasks of MCP servers.
    pub agents: Vec<TaskView>,
    /// The commands.
    pub commands: Vec<TaskView>,
}

impl BackgroundWork {
    /// The tasks that are at work.
    pub fn of(tasks: Vec<TaskView>) -> BackgroundWork {
        let mut work = BackgroundWork::default();
        for task in tasks.into_iter().filter(|task| !task.state.is_at_rest()) {
            match task.kind.form() {
                TaskForm::Command => work.commands.push(task),
                TaskForm::Agent if task.kind.is_subagent() => work.agents.push(task),
                // The task of an MCP server, whose result comes like that of an agent.
                TaskForm::Reported if task.kind.keeps_session_busy() => work.agents.push(task),
                // A client works on its task, not this session; the end of the session waits for a question.
                TaskForm::Agent | TaskForm::Reported | TaskForm::Question => {}
            }
        }
        work
    }
}

/// What a run waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RunWait {
    /// The root's answer.
    Answer,
    /// Background work, after the answer.
    Background,
    /// A quota that any task of the tree has run into.
    Quota,
    /// Nothing: the run is over.
    Nothing,
}

impl RunWait {
    fn during(phase: RunPhase) -> RunWait {
        match phase {
            RunPhase::Working => RunWait::Answer,
            RunPhase::Background => RunWait::Background,
            RunPhase::Parked(ParkingView { until_at: Some(_), .. }) => RunWait::Quota,
            // Only a person can change a condition that has no time, such as an invalid API key.
            RunPhase::Parked(ParkingView { until_at: None, .. }) | RunPhase::Quiet | RunPhase::Paused => {
                RunWait::Nothing
            }
        }
    }
}

/// What is due at a deadline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunDue {
    /// Nothing yet.
    Nothing,
    /// This work took longer than allowed. If it is stopped all at once, its end does not wake the root.
    Overdue(BackgroundWork),
    /// The run is over.
    Over(SessionWaitEnd),
}

/// Follows a run and decides when it is over.
#[derive(Debug, Clone)]
pub struct RunWatch {
    limits: RunWaitLimits,
    started_at: Instant,
    phase: RunPhase,
    wait_began: Instant,
    last_event: Instant,
    /// When background work is looked at next.
    check_at: Option<Instant>,
}

impl RunWatch {
    /// A run that starts now.
    pub fn new(limits: RunWaitLimits, now: Instant) -> RunWatch {
        let phase = RunPhase::Working;
        RunWatch { limits, started_at: now, phase, wait_began: now, last_event: now, check_at: None }
    }

    /// An event of the session was received.
    pub fn note_event(&mut self, now: Instant) {
        self.last_event = now;
    }

    /// The session is in this phase. The limits count from the start of the current wait.
    pub fn note_phase(&mut self, phase: RunPhase, now: Instant) {
        if RunWait::during(self.phase) != RunWait::during(phase) {
            self.wait_began = now;
            let shortest = [self.limits.commands, self.limits.agents].into_iter().flatten().min();
            self.check_at = shortest.map(|limit| now + limit);
        }
        self.phase = phase;
    }

    /// When something is due; none if only another phase can end the wait.
    pub fn deadline(&self, now: Instant) -> Option<Instant> {
        match RunWait::during(self.phase) {
            RunWait::Answer => None,
            RunWait::Background => self.check_at,
            RunWait::Quota => [self.park_end(), self.run_end()].into_iter().flatten().min(),
            RunWait::Nothing => Some(now),
        }
    }

    /// Waits until something is due. Dropping the future loses nothing.
    pub async fn until_due(&self) {
        let now = Instant::now();
        match self.deadline(now) {
            None => std::future::pending().await,
            // A timer would add up to a millisecond to each run.
            Some(deadline) if deadline <= now => {}
            Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
        }
    }

    /// What is due now. Reads the background work only if that decides.
    pub fn due<E>(&mut self, now: Instant, work: impl FnOnce() -> Result<BackgroundWork, E>) -> Result<RunDue, E> {
        if self.deadline(now).is_none_or(|deadline| deadline > now) {
            return Ok(RunDue::Nothing);
        }
        Ok(match self.phase {
            RunPhase::Working => RunDue::Nothing,
            RunPhase::Background => self.background_due(work()?, now),
            RunPhase::Parked(ParkingView { until_at: Some(_), .. })
                if self.run_end().is_some_and(|end| self.park_end().is_none_or(|park| end < park)) =>
            {
                RunDue::Over(SessionWaitEnd::TimedOut)
            }
            RunPhase::Parked(parking) => RunDue::Over(SessionWaitEnd::Parked { parking }),
            RunPhase::Quiet => RunDue::Over(SessionWaitEnd::Quiet),
            RunPhase::Paused => RunDue::Over(SessionWaitEnd::Paused),
        })
    }

    fn background_due(&mut self, work: BackgroundWork, now: Instant) -> RunDue {
        let until = if work.agents.is_empty() {
            self.limits.commands.map(|limit| self.wait_began + limit)
        } else {
            self.limits.agents.map(|limit| self.last_event + limit)
        };
        match until {
            Some(until) if until <= now => {
                self.check_at = Some(now + RECHECK_INTERVAL);
                RunDue::Overdue(work)
            }
            // Agents without a limit may end before commands with one.
            until => {
                self.check_at = until.or(self.limits.commands.map(|limit| now + limit));
                RunDue::Nothing
            }
        }
    }

    fn park_end(&self) -> Option<Instant> {
        self.limits.park.map(|limit| self.wait_began + limit)
    }

    fn run_end(&self) -> Option<Instant> {
        self.limits.run.map(|limit| self.started_at + limit)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use protocol::{ParkReason, Timestamp};

    use super::*;

    const QUOTA: ParkingView = ParkingView { until_at: Some(Timestamp(5)), why: ParkReason::Quota };

    const LIMITS: RunWaitLimits = RunWaitLimits {
        commands: Some(Duration::from_secs(30)),
        agents: Some(Duration::from_secs(600)),
        park: Some(Duration::from_secs(60)),
        run: None,
    };

    fn task(kind: &str, state: &str) -> TaskView {
        let view = serde_json::json!({
            "id": "task-00000000000000000000000000000001", "path": "/root/a", "parent": null, "kind": kind,
            "agent": "worker", "name": "a", "description": "", "depth": 1, "mode": "background",
            "state": { "type": state }, "status": "running", "activation": 1, "attempt": 1, "turns": 0, "unread": 0,
            "usage": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0 }, "costMicros": 0,
            "priced": true, "changes": 0, "commands": 0, "forgotten": false, "createdAt": 1, "updatedAt": 1,
        });
        serde_json::from_value(view).unwrap()
    }

    fn work(kinds: &[&str]) -> BackgroundWork {
        BackgroundWork::of(kinds.iter().map(|kind| task(kind, "running")).collect())
    }

    struct Clock(Instant);

    impl Clock {
        fn at(&self, secs: u64) -> Instant {
            self.0 + Duration::from_secs(secs)
        }
    }

    fn due(watch: &mut RunWatch, now: Instant, work: &BackgroundWork) -> RunDue {
        watch.due(now, || Ok::<_, Infallible>(work.clone())).unwrap()
    }

    fn in_background(limits: RunWaitLimits) -> (RunWatch, Clock) {
        let clock = Clock(Instant::now());
        let mut watch = RunWatch::new(limits, clock.at(0));
        watch.note_phase(RunPhase::Background, clock.at(0));
        (watch, clock)
    }

    #[test]
    fn only_work_that_continues_counts() {
        let tasks =
            vec![task("main", "running"), task("agent", "running"), task("agent", "idle"), task("shell", "queued")];
        let work = BackgroundWork::of(tasks);
        assert_eq!((work.agents.len(), work.commands.len()), (1, 1));
        let work = BackgroundWork::of(vec![task("external", "running"), task("mcp-task", "running")]);
        assert_eq!((work.agents.len(), work.commands.len()), (1, 0));
    }

    #[test]
    fn commands_are_waited_for_since_the_answer() {
        let (mut watch, clock) = in_background(LIMITS);
        watch.note_event(clock.at(29));
        assert_eq!(watch.deadline(clock.at(0)), Some(clock.at(30)));
        assert_eq!(due(&mut watch, clock.at(29), &work(&["shell"])), RunDue::Nothing);
        assert_eq!(due(&mut watch, clock.at(30), &work(&["shell"])), RunDue::Overdue(work(&["shell"])));
        assert_eq!(watch.deadline(clock.at(30)), Some(clock.at(30) + RECHECK_INTERVAL));
    }

    #[test]
    fn agents_are_waited_for_since_their_last_event() {
        let (mut watch, clock) = in_background(LIMITS);
        watch.note_event(clock.at(500));
        assert_eq!(due(&mut watch, clock.at(600), &work(&["agent", "shell"])), RunDue::Nothing);
        assert_eq!(watch.deadline(clock.at(600)), Some(clock.at(1_100)));
        assert_eq!(due(&mut watch, clock.at(1_100), &work(&["agent"])), RunDue::Overdue(work(&["agent"])));
    }

    #[test]
    fn a_new_answer_restarts_the_wait() {
        let (mut watch, clock) = in_background(LIMITS);
        watch.note_phase(RunPhase::Working, clock.at(10));
        assert_eq!(watch.deadline(clock.at(10)), None);
        watch.note_phase(RunPhase::Background, clock.at(20));
        assert_eq!(watch.deadline(clock.at(20)), Some(clock.at(50)));
    }

    #[test]
    fn without_limits_only_the_end_ends_the_wait() {
        let (mut watch, clock) = in_background(RunWaitLimits::default());
        assert_eq!(watch.deadline(clock.at(0)), None);
        watch.note_phase(RunPhase::Parked(QUOTA), clock.at(1));
        assert_eq!(watch.deadline(clock.at(1)), None);
        watch.note_phase(RunPhase::Quiet, clock.at(2));
        assert_eq!(due(&mut watch, clock.at(2), &work(&[])), RunDue::Over(SessionWaitEnd::Quiet));
    }

    #[test]
    fn a_quota_is_waited_for_up_to_the_earlier_of_two_limits() {
        let clock = Clock(Instant::now());
        for (run, expected) in [(None, SessionWaitEnd::Parked { parking: QUOTA }), (Some(40), SessionWaitEnd::TimedOut)]
        {
            let limits = RunWaitLimits { run: run.map(Duration::from_secs), ..LIMITS };
            let mut watch = RunWatch::new(limits, clock.at(0));
            watch.note_phase(RunPhase::Parked(QUOTA), clock.at(0));
            assert_eq!(due(&mut watch, clock.at(39), &work(&[])), RunDue::Nothing);
            assert_eq!(due(&mut watch, clock.at(60), &work(&[])), RunDue::Over(expected));
        }
    }

    #[test]
    fn a_condition_that_only_a_person_changes_ends_the_run_at_once() {
        let clock = Clock(Instant::now());
        let parking = ParkingView { until_at: None, why: ParkReason::Quota };
        let mut watch = RunWatch::new(LIMITS, clock.at(0));
        watch.note_phase(RunPhase::Parked(parking), clock.at(0));
        assert_eq!(due(&mut watch, clock.at(0), &work(&[])), RunDue::Over(SessionWaitEnd::Parked { parking }));
    }
}
