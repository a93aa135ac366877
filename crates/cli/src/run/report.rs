//! The result of a run: the answer, every task with its outcome, what was denied, and what it used.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use host::Home;
use protocol::api::{TaskView, TasksParams};
use protocol::{
    AnswerStatus, Ask, AskId, AutopilotStop, Block, CallId, CancelBy, DecidedBy, Decision, Event, Evidence, FailKind,
    Kind, Origin, Outcome, PlanAction, SessionId, SessionMode, Subject, TaskId, Turn,
};
use runtime::{Live, Parking, Session};
use serde::Serialize;
use store::{Reader, StoreError};

use super::background::AtWork;
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
    /// What the whole session waits for.
    pub(crate) parked: Option<Parking>,
    /// How the root's last activation of this run ended, and its text.
    pub(super) answer: Option<(Outcome, String)>,
    /// What it says in its latest turn, until that is durable: all there is of an answer that could not be written.
    heard: Option<(Turn, String)>,
    /// How tasks that finished in this run did.
    pub(super) finished: Vec<(TaskId, Outcome)>,
    /// The agents that were not waited for any longer.
    pub(super) cut_off: BTreeSet<String>,
    /// The background commands that were stopped for the same reason.
    pub(super) killed: BTreeSet<String>,
    /// What tasks that began in this run are called.
    names: BTreeMap<TaskId, String>,
    /// The calls of each task's latest answer.
    calls: BTreeMap<(TaskId, CallId), Called>,
    pub(crate) denials: Vec<Denial>,
    pub(super) figures: Option<Figures>,
    pub(super) tasks: Vec<TaskView>,
    /// Why an agent on autopilot did not go on, and how often it was told to.
    pub(super) landed: Option<(AutopilotStop, u32)>,
    /// The plan, if the run ends with it.
    pub(super) plan: Option<String>,
    /// Whether it was planning, and the plan was not carried out.
    planned: bool,
    /// Whether a plan was made and carried out.
    carried_out: bool,
    /// The files that calls changed.
    pub(super) changed: BTreeSet<String>,
}

/// A call that was not permitted.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Denial {
    task: TaskId,
    pub(super) tool: String,
    input: String,
    /// Why it was not permitted.
    reason: String,
    /// What a person was asked about it.
    ask: Option<AskId>,
    /// Who decided that, if it was asked about.
    pub(super) by: Option<DecidedBy>,
    /// The rules that would allow it and its like; none where no rule may, and where a person said no.
    pub(super) rules: Vec<String>,
}

/// A call, with what was asked about it and said.
#[derive(Debug, Default)]
struct Called {
    tool: String,
    input: String,
    asked: Option<Asked>,
}

/// What was asked about a call.
#[derive(Debug)]
struct Asked {
    id: AskId,
    reason: String,
    by: Option<DecidedBy>,
    rules: Vec<String>,
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
            parked: None,
            answer: None,
            heard: None,
            finished: Vec::new(),
            cut_off: BTreeSet::new(),
            killed: BTreeSet::new(),
            names: BTreeMap::new(),
            calls: asked_before(session),
            denials: Vec::new(),
            figures: None,
            tasks: Vec::new(),
            landed: None,
            plan: None,
            planned: is_planning(session),
            carried_out: false,
            changed: BTreeSet::new(),
        }
    }

    /// What the root said last in this run.
    pub(crate) fn said(&self) -> &str {
        self.text()
    }

    /// Takes in what happened.
    pub(crate) fn read(&mut self, live: &Live) {
        let envelope = match live {
            Live::Event(envelope) => envelope,
            Live::Text { task, turn, text } => return self.hear(*task, *turn, text),
        };
        let task = envelope.entry.task;
        match &envelope.entry.event {
            Event::ActivationEnded { outcome, text, .. } if task == self.root => {
                self.answer = Some((outcome.clone(), text.clone()));
            }
            Event::TaskCreated(spec) => drop(self.names.insert(task, spec.name.clone())),
            // Whoever was not let begin has failed at nothing.
            Event::TaskFinished { outcome: Outcome::Failed { kind: FailKind::Denied, message } } => {
                let (tool, input) = ("task".to_owned(), self.names.get(&task).cloned().unwrap_or_default());
                self.denials.push(Denial {
                    task,
                    tool,
                    input,
                    reason: message.clone(),
                    ask: None,
                    by: None,
                    rules: Vec::new(),
                });
            }
            Event::TaskFinished { outcome } => self.finished.push((task, outcome.clone())),
            Event::TurnAnswered { content, .. } => {
                self.calls.retain(|(other, _), _| *other != task);
                let called = content.iter().filter_map(called).map(|(call, called)| ((task, call), called));
                self.calls.extend(called);
            }
            Event::Asked(ask) => self.calls.extend(of_ask(task, ask)),
            Event::AskDecided { call, decision: Decision::Deny { words }, by, .. } => {
                if let Some(asked) = self.calls.get_mut(&(task, call.clone())).and_then(|c| c.asked.as_mut()) {
                    asked.deny(words, *by);
                }
            }
            Event::AskDecided { decision: Decision::Proceed { action }, .. } if *action != PlanAction::ExitOnly => {
                (self.planned, self.carried_out) = (false, true);
            }
            Event::AutopilotStopped { why, continues } => self.landed = Some((why.clone(), *continues)),
            Event::ModeChanged { mode, by } => {
                // Whoever left plan mode without an action did so with the last word.
                self.planned = match (mode, by) {
                    (SessionMode::Plan, _) => true,
                    (SessionMode::Interactive, Origin::Runtime) => self.planned,
                    (SessionMode::Interactive | SessionMode::Autopilot, _) => false,
                };
                self.landed = None;
            }
            Event::CallAnswered { evidence, .. } if !evidence.is_empty() => {
                self.changed.extend(evidence.iter().filter_map(|piece| match piece {
                    Evidence::Changed { path } => Some(path.clone()),
                    Evidence::Ran { .. } => None,
                }));
            }
            Event::CallAnswered { call, answer, .. } if answer.status == AnswerStatus::Denied => {
                let Called { tool, input, asked } = self.calls.remove(&(task, call.clone())).unwrap_or_default();
                self.denials.push(match asked {
                    Some(Asked { id, reason, by, rules }) => {
                        Denial { task, tool, input, reason, ask: Some(id), by, rules }
                    }
                    None => Denial {
                        task,
                        tool,
                        input,
                        reason: answer.text.clone(),
                        ask: None,
                        by: None,
                        rules: Vec::new(),
                    },
                });
            }
            _other => {}
        }
    }

    /// Takes in what the root says before it is durable.
    fn hear(&mut self, task: TaskId, turn: Turn, text: &str) {
        if task != self.root {
            return;
        }
        let (heard, words) = self.heard.get_or_insert_with(|| (turn, String::new()));
        if *heard != turn {
            (*heard, *words) = (turn, String::new());
        }
        words.push_str(text);
    }

    /// Takes in that what the session did could not be written.
    pub(super) fn pause(&mut self, error: StoreError) {
        (self.ended, self.paused) = (Ended::Paused, Some(Arc::new(error)));
    }

    /// Takes in what is waited for no longer.
    pub(super) fn cut_off(&mut self, at_work: AtWork) {
        self.cut_off.extend(at_work.agents);
        self.killed.extend(at_work.commands);
    }

    /// Reads the figures, once the session is left.
    pub(crate) fn complete(&mut self, left: Result<Reader, StoreError>) -> Result<(), Failure> {
        let reader = match (left, &self.paused) {
            (Err(error), None) => return Err(error.into()),
            // What paused it is what is told; what was written before can still be read.
            (Err(_), Some(_)) => Reader::open(&self.home, self.id),
            (Ok(reader), _) => Ok(reader),
        };
        let read = |reader: Reader| Ok((Figures::read(&reader)?, reader.tasks(&TasksParams::every())?.tasks));
        match (reader.and_then(read), &self.paused) {
            (Ok((figures, tasks)), _) => {
                self.plan = self.made_plan();
                (self.figures, self.tasks) = (Some(figures), tasks);
            }
            (Err(_), Some(_)) => {}
            (Err(error), None) => return Err(error.into()),
        }
        Ok(())
    }

    /// The plan, if this is what the run was for: it was planning, and nobody carried it out.
    fn made_plan(&self) -> Option<String> {
        if !self.planned {
            return None;
        }
        self.read_plan()
    }

    fn read_plan(&self) -> Option<String> {
        runtime::read_plan(&self.home, self.id).ok().flatten()
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
        let landed = self.landed.as_ref().map(|(why, _)| of_autopilot(why));
        let cut_off = !(self.cut_off.is_empty() && self.killed.is_empty());
        let cut_off = cut_off.then_some(Exit::Limit);
        let all = [ended].into_iter().chain(interrupted).chain(answer).chain(landed).chain(cut_off);
        Exit::worst(all.chain(self.finished.iter().map(|(_, outcome)| of_task(outcome))))
    }

    /// Writes the report to stdout, and what a person should know to stderr.
    pub(crate) fn write(&self, format: Format, show: Show) {
        match format {
            Format::Text => {
                let text = self.plan.as_deref().unwrap_or(self.text());
                if !text.is_empty() {
                    print::answer(print::plain(text).trim_end());
                }
            }
            Format::Json | Format::Jsonl => print::json(&self.written()),
        }
        if let (true, Show::Lines, Some(plan)) = (self.carried_out, show, self.read_plan()) {
            print::note(format_args!("the plan that was carried out:\n{}", print::plain(plan.trim_end())));
        }
        self.explain();
        let line = self.figures.as_ref().and_then(Figures::line);
        if let (Format::Text, Show::Lines, Some(line)) = (format, show, line) {
            print::note(format_args!("{line}; {}", self.tally()));
        }
    }

    /// What the run came to besides money.
    fn tally(&self) -> String {
        let agents = self.tasks.iter().filter(|task| task.kind == Kind::Agent).count();
        let (seconds, files) = (self.began.elapsed().as_secs_f64(), self.changed.len());
        format!("{}; {}; {seconds:.1} s", print::count(agents, "agent"), print::count(files, "changed file"))
    }

    pub(super) fn text(&self) -> &str {
        let heard = self.heard.as_ref().filter(|_| matches!(self.ended, Ended::Paused)).map(|(_, words)| &**words);
        self.answer.as_ref().map(|(_, text)| &**text).or(heard).unwrap_or("")
    }
}

/// The calls that an earlier process asked about: they may end in this one.
fn asked_before(session: &Session) -> BTreeMap<(TaskId, CallId), Called> {
    if session.first_seq() == 0 {
        return BTreeMap::new();
    }
    let asks = Reader::open(session.home(), session.id()).and_then(|reader| reader.asks(true));
    asks.unwrap_or_default().iter().filter_map(|view| of_ask(view.task, &view.ask)).collect()
}

/// Whether an earlier process left the session in plan mode.
fn is_planning(session: &Session) -> bool {
    session.first_seq() > 0 && session.view().is_ok_and(|view| view.mode == SessionMode::Plan)
}

fn of_ask(task: TaskId, ask: &Ask) -> Option<((TaskId, CallId), Called)> {
    match &ask.subject {
        Subject::Permission { tool, input, reason, rules } => {
            let asked = Some(Asked { id: ask.id.clone(), reason: reason.clone(), by: None, rules: rules.clone() });
            Some(((task, ask.call.clone()), Called { tool: tool.clone(), input: input.clone(), asked }))
        }
        Subject::Question { .. } | Subject::Plan { .. } => None,
    }
}

impl Asked {
    /// Takes in why the call did not run.
    fn deny(&mut self, words: &str, by: DecidedBy) {
        let why = match by {
            DecidedBy::Deadline => "nobody decided it in time".into(),
            DecidedBy::User if words.trim().is_empty() => "the user denied it".into(),
            DecidedBy::User => format!("the user denied it: {words}"),
        };
        self.reason = format!("{}, and {why}", self.reason);
        self.by = Some(by);
        if by == DecidedBy::User {
            self.rules.clear();
        }
    }
}

fn called(block: &Block) -> Option<(CallId, Called)> {
    match block {
        Block::Call(call) => {
            let (tool, input) = (call.tool.clone(), call.input.clone());
            Some((call.id.clone(), Called { tool, input, asked: None }))
        }
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

/// The outcome of the last activation tells why there was no answer.
fn of_autopilot(why: &AutopilotStop) -> Exit {
    match why {
        AutopilotStop::Complete { .. } | AutopilotStop::Failed => Exit::Success,
        AutopilotStop::Blocked { .. } => Exit::Failed,
        AutopilotStop::Limit => Exit::Limit,
        AutopilotStop::NoChange => Exit::Partial,
        AutopilotStop::Aborted { by: CancelBy::User | CancelBy::Agent } => Exit::Cancelled,
        AutopilotStop::Aborted { by: CancelBy::Parent | CancelBy::SessionEnd } => Exit::Limit,
    }
}

/// A task that failed makes the answer partial; one that was stopped does not.
pub(super) fn of_task(outcome: &Outcome) -> Exit {
    match outcome {
        Outcome::Completed | Outcome::Cancelled { .. } => Exit::Success,
        Outcome::Failed { .. } | Outcome::TimedOut { .. } | Outcome::BudgetExhausted | Outcome::Lost => Exit::Partial,
    }
}
