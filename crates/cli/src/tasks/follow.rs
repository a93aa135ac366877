//! What is shown of a task while it is followed.

use std::collections::{BTreeMap, BTreeSet};

use protocol::api::TaskView;
use protocol::{Block, Envelope, Event, TaskId, Turn};

use super::place::Paths;
use super::tail::Wanted;
use super::told::told;
use crate::print;

/// A task, with those below it if they are wanted.
#[derive(Debug)]
pub(super) struct Follow {
    wanted: Wanted,
    /// The paths of those that are followed.
    paths: Paths,
    /// The paths of all that were met.
    met: Paths,
    /// Those that have not ended for good.
    open: BTreeSet<TaskId>,
    /// What each says while its answer arrives.
    streams: BTreeMap<TaskId, Stream>,
}

/// An answer that arrives.
#[derive(Debug)]
struct Stream {
    turn: Turn,
    /// The line that has begun and not ended.
    line: String,
}

impl Follow {
    pub(super) fn new(top: &TaskView, wanted: Wanted) -> Follow {
        Follow {
            wanted,
            paths: BTreeMap::from([(top.id, top.path.clone())]),
            met: Paths::new(),
            open: BTreeSet::from([top.id]),
            streams: BTreeMap::new(),
        }
    }

    /// Whether everything has ended for good.
    pub(super) fn is_over(&self) -> bool {
        self.open.is_empty()
    }

    /// Shows an event, if it is one of a task that is followed.
    pub(super) fn event(&mut self, envelope: &Envelope) {
        let (task, event) = (envelope.entry.task, &envelope.entry.event);
        self.meet(task, event);
        if !self.paths.contains_key(&task) {
            return;
        }
        if matches!(event, Event::TaskFinished { .. }) {
            self.open.remove(&task);
        }
        if envelope.seq <= self.wanted.after {
            return;
        }
        if self.wanted.json {
            return print::json(envelope);
        }
        let streamed = self.finish(task, event);
        let lines = told(envelope.entry.at, event, &self.met, streamed);
        lines.iter().for_each(|line| self.say(task, line));
    }

    /// Shows the lines of an answer as they arrive.
    pub(super) fn text(&mut self, task: TaskId, turn: Turn, text: &str) {
        if self.wanted.json || !self.paths.contains_key(&task) {
            return;
        }
        let fresh = || Stream { turn, line: String::new() };
        let stream = self.streams.entry(task).or_insert_with(fresh);
        if stream.turn != turn {
            *stream = fresh();
        }
        stream.line.push_str(text);
        let Some(end) = stream.line.rfind('\n') else { return };
        let rest = stream.line.split_off(end + 1);
        let lines = std::mem::replace(&mut stream.line, rest);
        lines.lines().for_each(|line| self.say(task, line));
    }

    /// Shows lines that nobody will end any more.
    pub(super) fn end(&mut self) {
        for (task, stream) in std::mem::take(&mut self.streams) {
            if !stream.line.is_empty() {
                self.say(task, &stream.line);
            }
        }
    }

    /// Follows a task that one of those followed has started.
    fn meet(&mut self, task: TaskId, event: &Event) {
        let Event::TaskCreated(spec) = event else { return };
        let above = spec.parent.and_then(|parent| self.met.get(&parent)).map_or("", String::as_str);
        self.met.insert(task, format!("{above}/{}", spec.name));
        let above = spec.parent.filter(|_| self.wanted.tree).and_then(|parent| self.paths.get(&parent));
        if let Some(above) = above {
            let path = format!("{above}/{}", spec.name);
            self.paths.insert(task, path);
            self.open.insert(task);
        }
    }

    /// Ends the stream of a turn that is answered; whether its text was shown as it arrived.
    fn finish(&mut self, task: TaskId, event: &Event) -> bool {
        let (answered, text) = match event {
            Event::TurnAnswered { turn, content, .. } => (*turn, text_of(content)),
            Event::TurnFailed { turn, .. } => (*turn, String::new()),
            _other => return false,
        };
        let Some(stream) = self.streams.remove(&task).filter(|stream| stream.turn == answered) else { return false };
        // Pieces may be lost on the way; then all of it is shown.
        let whole = text.ends_with(&stream.line);
        if whole && !stream.line.is_empty() {
            self.say(task, &stream.line);
        }
        whole
    }

    fn say(&self, task: TaskId, line: &str) {
        let line = print::plain(line);
        match self.paths.get(&task).filter(|_| self.wanted.tree) {
            Some(path) => print::answer(format_args!("{}: {line}", print::plain(path))),
            None => print::answer(line),
        }
    }
}

fn text_of(content: &[Block]) -> String {
    let texts = content.iter().filter_map(|block| match block {
        Block::Text { text } => Some(text.as_str()),
        Block::Thinking { .. } | Block::Call(_) | Block::Opaque { .. } => None,
    });
    texts.collect()
}
