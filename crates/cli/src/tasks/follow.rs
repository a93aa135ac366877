//! What is shown of a task while it is followed.

use std::collections::{BTreeMap, BTreeSet};

use protocol::api::TaskView;
use protocol::{ContentBlock, Envelope, Event, TaskId, Turn};

use super::event_lines::task_event_lines;
use super::selection::TaskPaths;
use super::tail::TailOptions;
use crate::print;

/// A task, with those below it if they are wanted.
#[derive(Debug)]
pub(super) struct TaskFollower {
    options: TailOptions,
    /// The paths of those that are followed.
    paths: TaskPaths,
    /// The paths of all that were met.
    all_paths: TaskPaths,
    /// Those that have not ended for good.
    open: BTreeSet<TaskId>,
    /// What each says while its answer arrives.
    streams: BTreeMap<TaskId, TaskAnswerStream>,
}

/// An answer that arrives.
#[derive(Debug)]
struct TaskAnswerStream {
    turn: Turn,
    /// The line that has begun and not ended.
    line: String,
}

impl TaskFollower {
    pub(super) fn new(top: &TaskView, wanted: TailOptions) -> TaskFollower {
        TaskFollower {
            options: wanted,
            paths: BTreeMap::from([(top.id, top.path.clone())]),
            all_paths: TaskPaths::new(),
            open: BTreeSet::from([top.id]),
            streams: BTreeMap::new(),
        }
    }

    /// Whether everything has ended for good.
    pub(super) fn is_over(&self) -> bool {
        self.open.is_empty()
    }

    /// Shows an event, if it is one of a task that is followed.
    pub(super) fn show_event(&mut self, envelope: &Envelope) {
        let (task, event) = (envelope.entry.task, &envelope.entry.event);
        self.follow_child(task, event);
        if !self.paths.contains_key(&task) {
            return;
        }
        if matches!(event, Event::TaskFinished { .. }) {
            self.open.remove(&task);
        }
        if envelope.seq <= self.options.after {
            return;
        }
        if self.options.json {
            return print::json(envelope);
        }
        let streamed = self.end_stream(task, event);
        let lines = task_event_lines(envelope.entry.at, event, &self.all_paths, streamed);
        lines.iter().for_each(|line| self.print_line(task, line));
    }

    /// Shows the lines of an answer as they arrive.
    pub(super) fn show_text(&mut self, task: TaskId, turn: Turn, text: &str) {
        if self.options.json || !self.paths.contains_key(&task) {
            return;
        }
        let fresh = || TaskAnswerStream { turn, line: String::new() };
        let stream = self.streams.entry(task).or_insert_with(fresh);
        if stream.turn != turn {
            *stream = fresh();
        }
        stream.line.push_str(text);
        let Some(end) = stream.line.rfind('\n') else { return };
        let rest = stream.line.split_off(end + 1);
        let lines = std::mem::replace(&mut stream.line, rest);
        lines.lines().for_each(|line| self.print_line(task, line));
    }

    /// Shows lines that nobody will end any more.
    pub(super) fn flush(&mut self) {
        for (task, stream) in std::mem::take(&mut self.streams) {
            if !stream.line.is_empty() {
                self.print_line(task, &stream.line);
            }
        }
    }

    /// Follows a task that one of those followed has started.
    fn follow_child(&mut self, task: TaskId, event: &Event) {
        let Event::TaskCreated(spec) = event else { return };
        let above = spec.parent.and_then(|parent| self.all_paths.get(&parent)).map_or("", String::as_str);
        self.all_paths.insert(task, format!("{above}/{}", spec.name));
        let above = spec.parent.filter(|_| self.options.tree).and_then(|parent| self.paths.get(&parent));
        if let Some(above) = above {
            let path = format!("{above}/{}", spec.name);
            self.paths.insert(task, path);
            self.open.insert(task);
        }
    }

    /// Ends the stream of a turn that is answered; whether its text was shown as it arrived.
    fn end_stream(&mut self, task: TaskId, event: &Event) -> bool {
        let (answered, text) = match event {
            Event::TurnAnswered { turn, content, .. } => (*turn, text_of(content)),
            Event::TurnFailed { turn, .. } => (*turn, String::new()),
            _other => return false,
        };
        let Some(stream) = self.streams.remove(&task).filter(|stream| stream.turn == answered) else { return false };
        // Pieces may be lost on the way; then all of it is shown.
        let whole = text.ends_with(&stream.line);
        if whole && !stream.line.is_empty() {
            self.print_line(task, &stream.line);
        }
        whole
    }

    fn print_line(&self, task: TaskId, line: &str) {
        let line = print::sanitize(line);
        match self.paths.get(&task).filter(|_| self.options.tree) {
            Some(path) => print::output(format_args!("{}: {line}", print::sanitize(path))),
            None => print::output(line),
        }
    }
}

fn text_of(content: &[ContentBlock]) -> String {
    let texts = content.iter().filter_map(|block| match block {
        ContentBlock::Text { text } => Some(text.as_str()),
        ContentBlock::Thinking { .. } | ContentBlock::Call(_) | ContentBlock::Opaque { .. } => None,
    });
    texts.collect()
}
