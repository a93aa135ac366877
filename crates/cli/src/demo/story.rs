//! Tells a run as it happens: what the agent says, each call as it starts, and what the telling tools answered.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use protocol::{Answer, AnswerStatus, Block, Body, Call, CallId, Event, Origin, Outcome, SessionId, TaskId, Usage};
use runtime::Live;

use crate::print;
use crate::run::show;

/// The widest line.
pub(super) const WIDTH: usize = 78;

/// Tools whose answers are shown.
const TELLING: [&str; 3] = ["shell", "read_shell", "sql"];

/// Most lines shown of one answer.
const ANSWER_LINES: usize = 12;

/// A run as it is told, and its figures.
#[derive(Debug)]
pub(super) struct Story {
    pub(super) session: SessionId,
    root: TaskId,
    began: Instant,
    pub(super) took: Duration,
    pub(super) turns: usize,
    pub(super) calls: usize,
    pub(super) usage: Usage,
    /// What the tasks below the root are called.
    names: BTreeMap<TaskId, String>,
    /// Which of them have their prompt.
    prompted: BTreeSet<TaskId>,
    /// The calls of each task's newest turn.
    open: BTreeMap<TaskId, Vec<Call>>,
}

impl Story {
    pub(super) fn new(session: SessionId, root: TaskId) -> Story {
        Story {
            session,
            root,
            began: Instant::now(),
            took: Duration::ZERO,
            turns: 0,
            calls: 0,
            usage: Usage::default(),
            names: BTreeMap::new(),
            prompted: BTreeSet::new(),
            open: BTreeMap::new(),
        }
    }

    /// Prints what an event is worth.
    pub(super) fn tell(&mut self, live: &Live) {
        let Live::Event(envelope) = live else { return };
        self.took = self.began.elapsed();
        let (task, event) = (envelope.entry.task, &envelope.entry.event);
        let lines = if task == self.root { self.lines(event) } else { self.aside(task, event) };
        lines.iter().for_each(print::answer);
    }

    fn lines(&mut self, event: &Event) -> Vec<String> {
        match event {
            Event::MailAdmitted { from: Origin::User, body, .. } if let Some(text) = body.shown() => {
                vec![String::new(), print::one_line(&format!("> {text}"), WIDTH)]
            }
            Event::TurnAnswered { content, usage, .. } => {
                self.count(self.root, content, *usage);
                said_before_calls(content)
            }
            Event::CallStarted { call } => self.find(self.root, call).map(called).into_iter().collect(),
            Event::CallAnswered { call, answer, .. } if answer.status == AnswerStatus::Done => {
                let telling = self.find(self.root, call).is_some_and(|call| TELLING.contains(&call.tool.as_str()));
                if telling { shown(answer) } else { Vec::new() }
            }
            other => show::lines(other).iter().map(|line| fitted("  ", line)).collect(),
        }
    }

    /// What a task below the root does: its calls, and how it ends.
    fn aside(&mut self, task: TaskId, event: &Event) -> Vec<String> {
        let line = match event {
            Event::TaskCreated(spec) => {
                self.names.insert(task, spec.name.clone());
                None
            }
            Event::TurnAnswered { content, usage, .. } => {
                self.count(task, content, *usage);
                None
            }
            // The first mail is what it was started with, which the call has told.
            Event::MailAdmitted { .. } if self.prompted.insert(task) => None,
            Event::MailAdmitted { body: Body::Text { text, .. }, .. } => Some(format!("hears: {text}")),
            Event::CallStarted { call } => self.find(task, call).map(show::line),
            Event::ActivationEnded { outcome: Outcome::Failed { message, .. }, .. } => {
                Some(format!("failed: {message}"))
            }
            Event::ActivationEnded { outcome, text, .. } => Some(format!("{}: {text}", outcome.word())),
            _other => None,
        };
        let name = self.names.get(&task).map_or("", String::as_str);
        line.map(|line| fitted(&format!("  {name:<9}│ "), &line)).into_iter().collect()
    }

    fn count(&mut self, task: TaskId, content: &[Block], usage: Usage) {
        let calls: Vec<Call> = content.iter().filter_map(call).collect();
        self.turns += 1;
        self.calls += calls.len();
        self.usage = self.usage.plus(usage);
        self.open.insert(task, calls);
    }

    fn find(&self, task: TaskId, id: &CallId) -> Option<&Call> {
        self.open.get(&task)?.iter().find(|call| call.id == *id)
    }
}

/// What is said before calls is told now; what is said without any is the answer, which comes last.
fn said_before_calls(content: &[Block]) -> Vec<String> {
    if !content.iter().any(|block| matches!(block, Block::Call(_))) {
        return Vec::new();
    }
    let said = content.iter().filter_map(text).flat_map(wrapped);
    [String::new()].into_iter().chain(said).collect()
}

fn call(block: &Block) -> Option<Call> {
    match block {
        Block::Call(call) => Some(call.clone()),
        Block::Text { .. } | Block::Thinking { .. } | Block::Opaque { .. } => None,
    }
}

fn text(block: &Block) -> Option<&str> {
    match block {
        Block::Text { text } => Some(text),
        Block::Call(_) | Block::Thinking { .. } | Block::Opaque { .. } => None,
    }
}

fn called(call: &Call) -> String {
    fitted("  ", &show::line(call))
}

fn shown(answer: &Answer) -> Vec<String> {
    let all: Vec<String> = print::plain(&answer.text).lines().map(|line| clipped(&format!("    | {line}"))).collect();
    let (first, rest) = all.split_at(all.len().min(ANSWER_LINES));
    let more = (!rest.is_empty()).then(|| format!("    | … {} more lines", rest.len()));
    first.iter().cloned().chain(more).collect()
}

fn fitted(indent: &str, line: &str) -> String {
    format!("{indent}{}", print::one_line(line, WIDTH - indent.chars().count()))
}

/// The line with its spaces as they are, at most as wide as a line may be.
fn clipped(line: &str) -> String {
    if line.chars().count() <= WIDTH {
        return line.to_owned();
    }
    line.chars().take(WIDTH - 1).chain(['…']).collect()
}

/// The text in lines that break between words.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in print::plain(text).split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count() + 1 + word.chars().count() <= WIDTH => {
                line.push(' ');
                line.push_str(word);
            }
            Some(_) | None => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_too_wide() {
        let answer = Answer { status: AnswerStatus::Done, text: "é".repeat(200) };
        let long = Call { id: CallId("1".into()), tool: "shell".into(), input: "x".repeat(200) };
        let told = [shown(&answer), vec![called(&long)], wrapped(&"word ".repeat(50))].concat();
        assert!(told.iter().all(|line| line.chars().count() <= WIDTH), "{told:#?}");
        assert_eq!(wrapped(" a\n b "), ["a b"]);
    }

    #[test]
    fn a_long_answer_is_cut_and_says_so() {
        let lines = shown(&Answer { status: AnswerStatus::Done, text: "x\n".repeat(20) });
        assert_eq!(lines.len(), ANSWER_LINES + 1);
        assert_eq!(lines[ANSWER_LINES], "    | … 8 more lines");
    }
}
