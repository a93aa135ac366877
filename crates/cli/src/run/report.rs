//! The result of a run: the answer, every task with its outcome, what was denied, and what it used.

use std::sync::Arc;
use std::time::Instant;

use host::Home;
use protocol::api::{SessionView, TaskView};
use protocol::{AnswerStatus, Block, CallId, Event, Outcome, SessionId, TaskId, TaskState, Usage};
use runtime::{Live, Session};
use serde::Serialize;
use store::{Reader, StoreError};

use crate::args::Format;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::print;

/// Why the run is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Nothing is left to do.
    AtRest,
    /// It was told to end.
    Told,
    /// It waits for a quota, for longer than the caller does.
    Parked,
    /// What it did could not be written.
    Paused,
}

/// What there is to say of a run.
#[derive(Debug)]
pub(crate) struct Report {
    home: Home,
    id: SessionId,
    root: TaskId,
    began: Instant,
    pub(crate) ended: Ended,
    pub(crate) interrupted: bool,
    pub(crate) paused: Option<Arc<StoreError>>,
    /// How the root's last activation of this run ended, and its text.
    answer: Option<(Outcome, String)>,
    /// How tasks that finished in this run did.
    finished: Vec<Outcome>,
    calls: Vec<(CallId, String, String)>,
    denials: Vec<Denial>,
    view: Option<SessionView>,
    tasks: Vec<TaskView>,
}

/// A call that was not permitted.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct Denial {
    task: TaskId,
    tool: String,
    input: String,
}

/// The report as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Written<'a> {
    r#type: &'static str,
    session: SessionId,
    outcome: &'a str,
    message: Option<String>,
    exit_code: u8,
    text: &'a str,
    turns: u64,
    usage: Usage,
    duration_ms: u128,
    tasks: &'a [TaskView],
    denials: &'a [Denial],
}

impl Report {
    pub(crate) fn new(session: &Session) -> Report {
        Report {
            home: session.home().clone(),
            id: session.id(),
            root: session.root(),
            began: Instant::now(),
            ended: Ended::AtRest,
            interrupted: false,
            paused: None,
            answer: None,
            finished: Vec::new(),
            calls: Vec::new(),
            denials: Vec::new(),
            view: None,
            tasks: Vec::new(),
        }
    }

    /// Takes in what happened.
    pub(crate) fn read(&mut self, live: &Live) {
        let Live::Event(envelope) = live else { return };
        let task = envelope.entry.task;
        match &envelope.entry.event {
            Event::ActivationEnded { outcome, text, .. } if task == self.root => {
                self.answer = Some((outcome.clone(), text.clone()));
            }
            Event::TaskFinished { outcome } => self.finished.push(outcome.clone()),
            Event::TurnAnswered { content, .. } => self.calls = content.iter().filter_map(called).collect(),
            Event::CallAnswered { call, answer } if answer.status == AnswerStatus::Denied => {
                let known = self.calls.iter().find(|(id, ..)| id == call);
                let (tool, input) = known.map(|(_, tool, input)| (tool.clone(), input.clone())).unwrap_or_default();
                self.denials.push(Denial { task, tool, input });
            }
            _other => {}
        }
    }

    /// Reads the figures, once the session is left.
    pub(crate) fn complete(&mut self) -> Result<(), Failure> {
        let read = || -> Result<(SessionView, Vec<TaskView>), StoreError> {
            let reader = Reader::open(&self.home, self.id)?;
            Ok((reader.session_view()?, reader.tasks(0, u64::MAX)?.tasks))
        };
        match (read(), &self.paused) {
            (Ok((view, tasks)), _) => (self.view, self.tasks) = (Some(view), tasks),
            (Err(_), Some(_)) => {}
            (Err(error), None) => return Err(error.into()),
        }
        Ok(())
    }

    /// The exit code.
    pub(crate) fn exit(&self) -> Exit {
        let ended = match self.ended {
            Ended::AtRest => Exit::Success,
            Ended::Told => Exit::Cancelled,
            Ended::Parked => Exit::Parked,
            Ended::Paused => Exit::Failed,
        };
        let answer = match (&self.answer, self.ended) {
            (Some((outcome, _)), _) => Some(of_root(outcome)),
            (None, Ended::AtRest) => Some(Exit::Failed),
            (None, Ended::Told | Ended::Parked | Ended::Paused) => None,
        };
        let interrupted = self.interrupted.then_some(Exit::Cancelled);
        let all = [ended].into_iter().chain(interrupted).chain(answer);
        Exit::worst(all.chain(self.finished.iter().map(of_task)))
    }

    /// Writes the report to stdout, and what a person should know to stderr.
    pub(crate) fn write(&self, format: Format) {
        match format {
            Format::Text => {
                if !self.text().is_empty() {
                    print::answer(print::plain(self.text()).trim_end());
                }
            }
            Format::Json | Format::Jsonl => print::json(&self.written()),
        }
        self.explain();
    }

    fn explain(&self) {
        let id = self.id;
        if !self.denials.is_empty() {
            let tools: Vec<&str> = self.denials.iter().map(|denial| denial.tool.as_str()).collect();
            let tools = print::plain(&tools.join(", "));
            print::note(format_args!("not permitted: {tools} (permit with --allow-all)"));
        }
        match (self.ended, &self.paused, &self.answer) {
            (Ended::Paused, Some(reason), _) => {
                print::error(&reason.to_string());
                print::note(format_args!("hint: nothing that was finished is lost; go on with: bosun --resume {id}"));
            }
            (Ended::Parked, ..) => print::note(format_args!("parked; go on later with: bosun --resume {id}")),
            (Ended::Told, ..) => print::note(format_args!("interrupted; go on with: bosun --resume {id}")),
            (Ended::AtRest | Ended::Paused, _, Some((outcome, _))) => self.explain_outcome(outcome),
            (Ended::AtRest | Ended::Paused, _, None) => print::error("the run ended without an answer"),
        }
    }

    fn explain_outcome(&self, outcome: &Outcome) {
        let id = self.id;
        match outcome {
            Outcome::Completed => {}
            Outcome::Failed { message, .. } => {
                print::error(&print::plain(message));
                print::note(format_args!("hint: what was done is kept; go on with: bosun --resume {id} -p \"…\""));
            }
            Outcome::Cancelled { .. } => {
                print::note(format_args!("cancelled; go on with: bosun --resume {id} -p \"…\""));
            }
            Outcome::TimedOut { .. } => {
                print::error("the limit of turns was reached before the answer");
                print::note(format_args!("hint: go on with: bosun --resume {id} -p \"go on\" --max-turns N"));
            }
            Outcome::BudgetExhausted => print::error("the budget was used up before the answer"),
            Outcome::Lost => print::error("the run was lost"),
        }
    }

    fn text(&self) -> &str {
        self.answer.as_ref().map_or("", |(_, text)| text)
    }

    fn written(&self) -> Written<'_> {
        let state = self.view.as_ref().map(|view| &view.state);
        let outcome = match (&self.answer, self.ended) {
            (Some((outcome, _)), Ended::AtRest) => outcome.word(),
            (_, Ended::Paused) => "paused",
            (_, Ended::Told | Ended::Parked) | (None, Ended::AtRest) => state.map_or("unknown", TaskState::word),
        };
        let message = match (&self.answer, &self.paused) {
            (_, Some(reason)) => Some(reason.to_string()),
            (Some((Outcome::Failed { message, .. }, _)), None) => Some(message.clone()),
            (Some(_) | None, None) => None,
        };
        Written {
            r#type: "result",
            session: self.id,
            outcome,
            message,
            exit_code: self.exit().code(),
            text: self.text(),
            turns: self.view.as_ref().map_or(0, |view| view.turns),
            usage: self.view.as_ref().map(|view| view.usage).unwrap_or_default(),
            duration_ms: self.began.elapsed().as_millis(),
            tasks: &self.tasks,
            denials: &self.denials,
        }
    }
}

fn called(block: &Block) -> Option<(CallId, String, String)> {
    match block {
        Block::Call(call) => Some((call.id.clone(), call.tool.clone(), call.input.clone())),
        Block::Text { .. } | Block::Thinking { .. } | Block::Opaque { .. } => None,
    }
}

fn of_root(outcome: &Outcome) -> Exit {
    match outcome {
        Outcome::Completed => Exit::Success,
        Outcome::Failed { .. } | Outcome::Lost => Exit::Failed,
        Outcome::Cancelled { .. } => Exit::Cancelled,
        Outcome::TimedOut { .. } => Exit::Limit,
        Outcome::BudgetExhausted => Exit::Budget,
    }
}

/// A task that failed makes the answer partial; one that was stopped does not.
fn of_task(outcome: &Outcome) -> Exit {
    match outcome {
        Outcome::Completed | Outcome::Cancelled { .. } => Exit::Success,
        Outcome::Failed { .. } | Outcome::TimedOut { .. } | Outcome::BudgetExhausted | Outcome::Lost => Exit::Partial,
    }
}
