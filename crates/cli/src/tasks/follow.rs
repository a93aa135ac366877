//! Shows a task while it is followed.

use std::collections::{BTreeMap, BTreeSet};

use protocol::api::TaskView;
use protocol::{ContentBlock, Envelope, Event, TaskId, Turn};
use tui::print;

use super::event_lines::task_event_lines;
use super::selection::TaskPaths;
use super::tail::TailOptions;

/// A followed task, with its descendants if requested.
#[derive(Debug)]
pub(super) struct TaskFollower {
    options: TailOptions,
    /// The paths of followed tasks.
    paths: TaskPaths,
    /// The paths of all tasks seen so far.
    all_paths: TaskPaths,
    /// The followed tasks that have not finished.
    unfinished: BTreeSet<TaskId>,
    /// The answers that are being streamed.
    streams: BTreeMap<TaskId, TaskAnswerStream>,
}

/// A streamed answer.
#[derive(Debug)]
struct TaskAnswerStream {
    turn: Turn,
    /// The incomplete last line.
    line: String,
}

impl TaskFollower {
    pub(super) fn new(task: &TaskView, options: TailOptions) -> TaskFollower {
        TaskFollower {
            options,
            paths: BTreeMap::from([(task.id, task.path.clone())]),
            all_paths: TaskPaths::new(),
            unfinished: BTreeSet::from([task.id]),
            streams: BTreeMap::new(),
        }
    }

    /// Whether all followed tasks have finished.
    pub(super) fn is_finished(&self) -> bool {
        self.unfinished.is_empty()
    }

    /// Shows an event if its task is followed.
    pub(super) fn show_event(&mut self, envelope: &Envelope) {
        let (task, event) = (envelope.entry.task, &envelope.entry.event);
        self.follow_child(task, event);
        if !self.paths.contains_key(&task) {
            return;
        }
        if matches!(event, Event::TaskFinished { .. }) {
            self.unfinished.remove(&task);
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
        let new_stream = || TaskAnswerStream { turn, line: String::new() };
        let stream = self.streams.entry(task).or_insert_with(new_stream);
        if stream.turn != turn {
            *stream = new_stream();
        }
        stream.line.push_str(text);
        let Some(end) = stream.line.rfind('\n') else { return };
        let rest = stream.line.split_off(end + 1);
        let lines = std::mem::replace(&mut stream.line, rest);
        lines.lines().for_each(|line| self.print_line(task, line));
    }

    /// Shows the remaining incomplete lines.
    pub(super) fn flush(&mut self) {
        for (task, stream) in std::mem::take(&mut self.streams) {
            if !stream.line.is_empty() {
                self.print_line(task, &stream.line);
            }
        }
    }

    /// Follows a new child of a followed task.
    fn follow_child(&mut self, task: TaskId, event: &Event) {
        let Event::TaskCreated(spec) = event else { return };
        let parent = spec.parent.and_then(|parent| self.all_paths.get(&parent)).map_or("", String::as_str);
        self.all_paths.insert(task, format!("{parent}/{}", spec.name));
        let parent = spec.parent.filter(|_| self.options.tree).and_then(|parent| self.paths.get(&parent));
        if let Some(parent) = parent {
            let path = format!("{parent}/{}", spec.name);
            self.paths.insert(task, path);
            self.unfinished.insert(task);
        }
    }

    /// Ends the stream of an answered turn; returns whether its text was already shown.
    fn end_stream(&mut self, task: TaskId, event: &Event) -> bool {
        let (answered, text) = match event {
            Event::TurnAnswered { turn, content, .. } => (*turn, ContentBlock::text_of(content)),
            Event::TurnFailed { turn, .. } => (*turn, String::new()),
            _other => return false,
        };
        let Some(stream) = self.streams.remove(&task).filter(|stream| stream.turn == answered) else { return false };
        // Parts may be lost in transit; then the whole text is shown.
        let is_complete = text.ends_with(&stream.line);
        if is_complete && !stream.line.is_empty() {
            self.print_line(task, &stream.line);
        }
        is_complete
    }

    fn print_line(&self, task: TaskId, line: &str) {
        let line = print::sanitize(line);
        match self.paths.get(&task).filter(|_| self.options.tree) {
            Some(path) => print::output(format_args!("{}: {line}", print::sanitize(path))),
            None => print::output(line),
        }
    }
}
