//! Shows a run as lines, without repetitions; explains long silences.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use client::{SessionHandle, SessionMessage};
use protocol::api::TaskView;
use protocol::{Attempt, Event, HiddenTasks, ModelFault, TaskId, TaskOutcome, Timestamp};
use tui::chat::{CallFailure, Prompter, PrompterInput, PrompterResult};
use tui::countdown::Countdown;
use tui::event_text::{ProgressMode, event_lines};
use tui::live::{FleetBoard, FleetLines};
use tui::print;
use tui::signals::RunSignal;

use crate::error::CliError;

/// A silence longer than this is explained.
const LONG_SILENCE: Duration = Duration::from_secs(10);

/// The first attempt at an activation; later ones resume it.
const FIRST_ATTEMPT: Attempt = Attempt(1);

/// The output of a run.
#[derive(Debug)]
pub(super) struct RunScreen<'a> {
    progress_mode: ProgressMode,
    root: TaskId,
    /// The agents below the root, with their paths relative to it.
    agents: BTreeMap<TaskId, String>,
    /// Describes the session's fleet.
    fleet: FleetLines,
    hidden: HiddenTasks,
    /// Pairs of a requested and a different answering model that were already shown.
    shown_model_pairs: BTreeSet<(String, String)>,
    /// The last failure of each task's model, until it answers.
    last_failures: BTreeMap<TaskId, String>,
    /// What the root waits for and since when, until it is explained.
    silence: Option<(SilenceReason, Instant)>,
    /// Asks the user at this terminal.
    prompter: Option<Prompter<'a>>,
    /// The countdown to the root's next attempt.
    countdown: Option<Countdown>,
    /// Whether transient lines can be shown.
    on_terminal: bool,
}

/// What the root silently waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SilenceReason {
    /// The governor, which delays requests when the provider asked to slow down or is overloaded.
    Queue,
    /// The start of an answer.
    Answer,
}

impl<'a> RunScreen<'a> {
    pub(super) fn new(show: ProgressMode, root: TaskId) -> RunScreen<'a> {
        RunScreen {
            progress_mode: show,
            root,
            agents: BTreeMap::new(),
            fleet: FleetLines::default(),
            hidden: HiddenTasks::default(),
            shown_model_pairs: BTreeSet::new(),
            last_failures: BTreeMap::new(),
            silence: None,
            prompter: None,
            countdown: None,
            on_terminal: false,
        }
    }

    /// Adds a prompter, if the user can be asked at this terminal.
    pub(super) fn with_prompter(self, prompter: Option<Prompter<'a>>) -> RunScreen<'a> {
        RunScreen { prompter, ..self }
    }

    /// Enables the countdown to the next attempt on a terminal.
    pub(super) fn with_countdown(self, on_terminal: bool) -> RunScreen<'a> {
        RunScreen { on_terminal, ..self }
    }

    /// Adds the agents that earlier processes started.
    pub(super) fn with_tasks(mut self, tasks: &[TaskView]) -> RunScreen<'a> {
        let agents = tasks.iter().filter(|task| task.kind.is_subagent());
        self.agents.extend(agents.map(|task| (task.id, print::agent_name(&task.path).to_owned())));
        self
    }

    /// Adds the state of the session's fleet so far.
    pub(super) fn with_fleet(self, board: FleetBoard) -> RunScreen<'a> {
        RunScreen { fleet: FleetLines::new(board), ..self }
    }

    /// Shows an event. Streamed text is not shown; it only ends a silence.
    pub(super) fn handle_message(&mut self, message: &SessionMessage) {
        let envelope = match message {
            SessionMessage::Event(envelope) => envelope,
            SessionMessage::Text { .. } => return self.silence = None,
            SessionMessage::Status(_) => return,
        };
        let event = &envelope.entry.event;
        let fleet_lines = self.fleet.apply(envelope);
        if envelope.entry.task == self.root {
            self.track_wait(event, Instant::now());
        }
        let is_hidden = self.is_redundant(envelope.entry.task, event) || is_expired_ask(event, envelope.entry.at);
        if let Some(prompter) = &mut self.prompter {
            print::clear_transient();
            let agent = self.agents.get(&envelope.entry.task).map_or("", String::as_str);
            if prompter.handle_message(message, agent) == PrompterResult::Shown {
                return;
            }
        }
        match self.progress_mode {
            ProgressMode::Nothing => {}
            ProgressMode::Events => print::json(&**envelope),
            ProgressMode::Lines if is_hidden => {}
            ProgressMode::Lines => {
                let fleet_lines = fleet_lines.into_iter().map(|line| format!("  = {line}"));
                for line in fleet_lines.chain(self.lines_for(envelope.entry.task, event)) {
                    self.note(&line);
                }
            }
        }
    }

    /// The user's next input; pending while there is no prompter.
    pub(super) async fn next_input(&mut self) -> PrompterInput {
        match &mut self.prompter {
            Some(prompter) => prompter.next_input().await,
            None => std::future::pending().await,
        }
    }

    /// Handles the user's input; returns a signal that is meant for the whole run.
    pub(super) async fn handle_input(
        &mut self,
        input: PrompterInput,
        session: &SessionHandle,
    ) -> Result<Option<RunSignal>, CliError> {
        match &mut self.prompter {
            Some(prompter) => {
                prompter.handle_input(input, session).await.map_err(|error| CallFailure::Fatal(error).into())
            }
            None => Ok(None),
        }
    }

    /// Explains a silence that has become long, and updates the countdown on a terminal.
    pub(super) fn tick(&mut self, now: Instant) {
        let explanation = self.explain_silence(now);
        if let (ProgressMode::Lines, Some(line)) = (self.progress_mode, explanation) {
            self.note(line);
        }
        let can_show_countdown = self.on_terminal && self.progress_mode == ProgressMode::Lines && !self.is_asking();
        match self.countdown_line(now) {
            Some(line) if can_show_countdown => print::show_transient(&line),
            Some(_) | None => print::clear_transient(),
        }
    }

    /// Whether the last lines of the terminal are a question.
    fn is_asking(&self) -> bool {
        self.prompter.as_ref().is_some_and(Prompter::is_asking)
    }

    /// Prints a note, above an open question if there is one.
    fn note(&mut self, line: &str) {
        match self.prompter.as_mut().map(|prompter| prompter.show_line(line)) {
            Some(PrompterResult::Shown) => {}
            Some(PrompterResult::NotShown) | None => print::note(line),
        }
    }

    /// The lines that describe an event. Those of an agent below the root contain its path; a new agent is added.
    fn lines_for(&mut self, task: TaskId, event: &Event) -> Vec<String> {
        if task == self.root {
            return event_lines(event);
        }
        if self.hidden.hides(task, event) {
            return Vec::new();
        }
        match event {
            Event::TaskCreated(spec) if spec.kind.is_subagent() => {
                let parent = spec.parent.and_then(|parent| self.agents.get(&parent));
                let path = parent.map_or_else(|| spec.name.clone(), |parent| format!("{parent}/{}", spec.name));
                let line =
                    format!("  + {} ({}): {}", print::sanitize(&path), spec.agent, print::sanitize(&spec.description));
                self.agents.insert(task, path);
                vec![line]
            }
            Event::ActivationEnded { outcome, .. } => {
                let detail = match outcome {
                    TaskOutcome::Failed { message, .. } => format!(": {}", print::format_reason(message, 100)),
                    _other => String::new(),
                };
                let named = self.agents.get(&task).map(|path| format!("  • {path} {}{detail}", outcome.as_str()));
                named.map(|line| print::sanitize(&line)).into_iter().collect()
            }
            other => {
                let Some(path) = self.agents.get(&task) else { return event_lines(other) };
                let path = print::sanitize(path);
                event_lines(other).into_iter().map(|line| format!("  {path}: {}", line.trim_start())).collect()
            }
        }
    }

    /// Whether an event repeats what was already shown or will be shown when the run ends. Remembers what was shown.
    fn is_redundant(&mut self, task: TaskId, event: &Event) -> bool {
        match event {
            // This error ends the run, and is shown when the run ends.
            Event::TurnFailed { fault: ModelFault::Auth | ModelFault::Terminal, .. } => task == self.root,
            Event::TurnFailed { message, retry, .. } => {
                let previous = self.last_failures.insert(task, message.clone());
                // The countdown shows the root's next attempts.
                let is_counted = self.on_terminal && task == self.root;
                previous.is_some_and(|previous| previous == *message) && (retry.is_none() || is_counted)
            }
            Event::TurnAnswered { .. } => {
                self.last_failures.remove(&task);
                false
            }
            Event::ModelDiffered { asked, answered, .. } => {
                !self.shown_model_pairs.insert((asked.clone(), answered.clone()))
            }
            _other => false,
        }
    }

    /// Tracks what the root waits for from now on.
    fn track_wait(&mut self, event: &Event, now: Instant) {
        self.countdown = match event {
            Event::TurnFailed { retry: Some(retry), .. } => Some(Countdown::new(*retry, now)),
            _other => None,
        };
        self.silence = match event {
            // A resumed activation may wait for the calls of its last answer.
            Event::ActivationStarted { attempt, .. } if *attempt > FIRST_ATTEMPT => None,
            Event::ActivationStarted { .. } | Event::TurnFailed { .. } | Event::CallAnswered { .. } => {
                Some((SilenceReason::Queue, now))
            }
            Event::TurnBegun { .. } => Some((SilenceReason::Answer, now)),
            Event::AskOpened(_)
            | Event::TurnAnswered { .. }
            | Event::CallStarted { .. }
            | Event::TaskParked { .. }
            | Event::ActivationEnded { .. } => None,
            _other => self.silence,
        };
    }

    /// The countdown line for a terminal.
    fn countdown_line(&mut self, now: Instant) -> Option<String> {
        self.countdown = self.countdown.filter(|countdown| !countdown.is_over(now));
        self.countdown.map(|countdown| format!("  … {}; Ctrl-C stops", countdown.describe(now)))
    }

    /// The explanation of a silence, once it is long.
    fn explain_silence(&mut self, now: Instant) -> Option<&'static str> {
        let (silence, _) = self.silence.take_if(|(_, since)| now.duration_since(*since) >= LONG_SILENCE)?;
        Some(match silence {
            SilenceReason::Queue => "  … queued: the provider asked to slow down or is overloaded; Ctrl-C stops",
            SilenceReason::Answer => "  … waiting for the model to answer",
        })
    }
}

/// Whether an event opens an ask that has already expired.
fn is_expired_ask(event: &Event, at: Timestamp) -> bool {
    match event {
        Event::AskOpened(ask) => ask.until_at.is_some_and(|until| until <= at),
        _other => false,
    }
}

#[cfg(test)]
mod tests {
    use protocol::{Activation, CallId, Turn};

    use super::*;

    fn failed() -> Event {
        let (fault, message) = (ModelFault::RetryAfter { millis: 60_000 }, "busy".into());
        Event::TurnFailed { turn: Turn(1), fault, message, cost: protocol::Cost::ZERO, retry: None }
    }

    #[test]
    fn repeated_failure_is_shown_once_until_an_answer() {
        let root = TaskId::new(uuid::Uuid::nil());
        let mut screen = RunScreen::new(ProgressMode::Lines, root);
        let failed = |fault| Event::TurnFailed {
            turn: Turn(1),
            fault,
            message: "connection refused".into(),
            cost: protocol::Cost::ZERO,
            retry: None,
        };
        let fault = failed(ModelFault::Transient);
        assert_eq!([&fault, &fault].map(|event| screen.is_redundant(root, event)), [false, true]);
        let answered = Event::TurnAnswered {
            turn: Turn(1),
            content: Vec::new(),
            stop: protocol::StopReason::End,
            usage: protocol::Usage::default(),
            cost: protocol::Cost::ZERO,
            model: String::new(),
        };
        assert!(!screen.is_redundant(root, &answered));
        assert!(!screen.is_redundant(root, &fault));
        assert!(screen.is_redundant(root, &failed(ModelFault::Auth)));
    }

    #[test]
    fn repeated_attempts_are_counted_on_one_line_of_a_terminal() {
        let root = TaskId::new(uuid::Uuid::nil());
        let Event::TurnFailed { turn, fault, message, cost, .. } = failed() else { panic!("it failed") };
        let retry = Some(protocol::RetryPlan { attempt: 2, of: 5, in_millis: 4_000 });
        let failed = Event::TurnFailed { turn, fault, message, cost, retry };
        for (on_terminal, expected) in [(true, [false, true, true]), (false, [false, false, false])] {
            let mut screen = RunScreen::new(ProgressMode::Lines, root).with_countdown(on_terminal);
            assert_eq!([(); 3].map(|()| screen.is_redundant(root, &failed)), expected);
        }
    }

    #[test]
    fn a_long_silence_is_explained_once() {
        let mut screen = RunScreen::new(ProgressMode::Lines, TaskId::new(uuid::Uuid::nil()));
        let now = Instant::now();
        assert_eq!(screen.explain_silence(now + LONG_SILENCE), None);
        screen.track_wait(&failed(), now);
        assert_eq!(screen.explain_silence(now + LONG_SILENCE / 2), None);
        assert!(screen.explain_silence(now + LONG_SILENCE).is_some_and(|line| line.contains("queued")));
        assert_eq!(screen.explain_silence(now + LONG_SILENCE * 2), None);
    }

    #[test]
    fn countdown_runs_until_the_next_event() {
        let mut screen = RunScreen::new(ProgressMode::Lines, TaskId::new(uuid::Uuid::nil()));
        let now = Instant::now();
        let retry = Some(protocol::RetryPlan { attempt: 2, of: 5, in_millis: 4_000 });
        let Event::TurnFailed { turn, fault, message, cost, .. } = failed() else { panic!("another event") };
        let failed = Event::TurnFailed { turn, fault, message, cost, retry };
        screen.track_wait(&failed, now);
        let line = |seconds: u64| Some(format!("  … attempt 2 of 5, next in {seconds} s; Ctrl-C stops"));
        let after = |seconds| now + Duration::from_secs(seconds);
        assert_eq!([0, 1, 3].map(|seconds| screen.countdown_line(after(seconds))), [line(4), line(3), line(1)]);
        assert_eq!([4, 0].map(|seconds| screen.countdown_line(after(seconds))), [None, None]);
        screen.track_wait(&failed, now);
        screen.track_wait(&Event::CallStarted { call: CallId("1".into()) }, now);
        assert_eq!(screen.countdown_line(now), None);
    }

    #[test]
    fn resumed_activation_that_waits_for_the_user_is_not_a_silence() {
        let mut screen = RunScreen::new(ProgressMode::Lines, TaskId::new(uuid::Uuid::nil()));
        let now = Instant::now();
        let started = |attempt| Event::ActivationStarted { activation: Activation(1), attempt: Attempt(attempt) };
        screen.track_wait(&started(2), now);
        assert_eq!(screen.explain_silence(now + LONG_SILENCE * 2), None);
        screen.track_wait(&started(1), now);
        assert!(screen.explain_silence(now + LONG_SILENCE).is_some_and(|line| line.contains("queued")));
    }

    #[test]
    fn running_call_is_not_a_silence() {
        let mut screen = RunScreen::new(ProgressMode::Lines, TaskId::new(uuid::Uuid::nil()));
        let now = Instant::now();
        screen.track_wait(&failed(), now);
        screen.track_wait(&Event::CallStarted { call: CallId("1".into()) }, now);
        assert_eq!(screen.explain_silence(now + LONG_SILENCE), None);
    }
}
