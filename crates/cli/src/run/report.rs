//! The result of a run: the answer, every task with its outcome, what was denied, and what it used.

use std::sync::Arc;
use std::time::Instant;

use host::Home;
use protocol::api::TaskView;
use protocol::{AnswerStatus, Block, CallId, Event, Outcome, SessionId, TaskId};
use runtime::{Live, Session};
use serde::Serialize;
use store::{Reader, StoreError};

use super::figures::Figures;
use super::show::Show;
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
    /// It waits for a quota, and its time is up.
    TimeUp,
    /// What it did could not be written.
    Paused,
}

/// What there is to say of a run.
#[derive(Debug)]
pub(crate) struct Report {
    home: Home,
    pub(super) id: SessionId,
    root: TaskId,
    pub(super) began: Instant,
    pub(crate) ended: Ended,
    pub(crate) interrupted: bool,
    pub(crate) paused: Option<Arc<StoreError>>,
    /// How the root's last activation of this run ended, and its text.
    pub(super) answer: Option<(Outcome, String)>,
    /// How tasks that finished in this run did.
    finished: Vec<Outcome>,
    calls: Vec<(CallId, String, String)>,
    pub(super) denials: Vec<Denial>,
    pub(super) figures: Option<Figures>,
    pub(super) tasks: Vec<TaskView>,
}

/// A call that was not permitted.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Denial {
    task: TaskId,
    pub(super) tool: String,
    input: String,
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
            figures: None,
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
        let read = || -> Result<(Figures, Vec<TaskView>), StoreError> {
            let reader = Reader::open(&self.home, self.id)?;
            Ok((Figures::read(&reader)?, reader.tasks(0, u64::MAX)?.tasks))
        };
        match (read(), &self.paused) {
            (Ok((figures, tasks)), _) => (self.figures, self.tasks) = (Some(figures), tasks),
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
            Ended::TimeUp => Exit::Limit,
            Ended::Paused => Exit::Failed,
        };
        let answer = match (&self.answer, self.ended) {
            (Some((outcome, _)), _) => Some(of_root(outcome)),
            (None, Ended::AtRest) => Some(Exit::Failed),
            (None, Ended::Told | Ended::Parked | Ended::TimeUp | Ended::Paused) => None,
        };
        let interrupted = self.interrupted.then_some(Exit::Cancelled);
        let all = [ended].into_iter().chain(interrupted).chain(answer);
        Exit::worst(all.chain(self.finished.iter().map(of_task)))
    }

    /// Writes the report to stdout, and what a person should know to stderr.
    pub(crate) fn write(&self, format: Format, show: Show) {
        match format {
            Format::Text => {
                if !self.text().is_empty() {
                    print::answer(print::plain(self.text()).trim_end());
                }
            }
            Format::Json | Format::Jsonl => print::json(&self.written()),
        }
        self.explain();
        let line = self.figures.as_ref().and_then(Figures::line);
        if let (Format::Text, Show::Lines, Some(line)) = (format, show, line) {
            print::note(line);
        }
    }

    pub(super) fn text(&self) -> &str {
        self.answer.as_ref().map_or("", |(_, text)| text)
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
