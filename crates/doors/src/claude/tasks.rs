//! Tasks below the session's own agent, in the frames that clients know: started, progress, updated, notification.
//!
//! Everything is folded from events, so a client that comes back is told of what is still at work.

mod control;
mod frames;
mod known;

use std::collections::BTreeMap;

use protocol::{At, Block, Body, Envelope, Event, Kind, Outcome, TaskId, TaskSpec};
use serde_json::{Value, json};
use uuid::Uuid;

pub(super) use control::{background, output, stop};
use known::{Known, Told, text};

/// The tasks of a session, as a client is told of them.
#[derive(Debug)]
pub(super) struct Tasks {
    session: Uuid,
    /// Our name of a tool in the client's words.
    tool: fn(&str) -> String,
    root: Option<TaskId>,
    tasks: BTreeMap<TaskId, Known>,
}

impl Tasks {
    /// Nothing is known of a session's tasks so far.
    pub(super) fn new(session: Uuid, tool: fn(&str) -> String) -> Tasks {
        Tasks { session, tool, root: None, tasks: BTreeMap::new() }
    }

    fn is_root(&self, task: TaskId) -> bool {
        self.root == Some(task)
    }

    /// How many agents below the root are at work, or wait for their turn.
    pub(super) fn agents(&self) -> usize {
        self.tasks.values().filter(|known| known.spec.kind == Kind::Agent && known.told == Told::Started).count()
    }

    /// The tasks that are at work for a tool call; all that are at work without one.
    pub(super) fn live(&self, call: Option<&str>) -> Vec<TaskId> {
        let wanted = |known: &Known| call.is_none_or(|call| known.spec.call.as_ref().is_some_and(|own| own.0 == call));
        let live = self.tasks.iter().filter(|(_, known)| known.told == Told::Started && wanted(known));
        live.map(|(id, _)| *id).collect()
    }

    /// The frames that tell a client of everything that is at work.
    pub(super) fn recap(&self) -> Vec<Value> {
        let live = self.tasks.iter().filter(|(_, known)| known.told == Told::Started);
        let started: Vec<Value> = live.map(|(id, known)| self.started(*id, known)).collect();
        let behind = self.tasks.values().any(Known::is_behind).then(|| self.behind());
        started.into_iter().chain(behind).collect()
    }

    /// Follows an event, and gives the frames that it comes to.
    pub(super) fn follow(&mut self, envelope: &Envelope) -> Vec<Value> {
        let (task, at) = (envelope.entry.task, envelope.entry.at);
        if let Event::TaskCreated(spec) = &envelope.entry.event {
            self.create(task, spec, at);
        }
        let Some(mut known) = self.tasks.remove(&task) else { return Vec::new() };
        let was_behind = known.is_behind();
        let mut frames = self.told(task, &mut known, at, &envelope.entry.event);
        let changed = was_behind != known.is_behind();
        self.tasks.insert(task, known);
        frames.extend(changed.then(|| self.behind()));
        frames
    }

    fn create(&mut self, task: TaskId, spec: &TaskSpec, at: At) {
        let Some(parent) = spec.parent else {
            self.root = Some(task);
            return;
        };
        let depth = self.tasks.get(&parent).map_or(1, |known| known.depth + 1);
        self.tasks.insert(task, Known::new(spec, depth, at));
    }

    fn told(&self, task: TaskId, known: &mut Known, at: At, event: &Event) -> Vec<Value> {
        match event {
            Event::MailAdmitted { body: Body::Text { text: words, .. }, .. } => {
                known.prompt.get_or_insert_with(|| text(words));
                self.start(task, known).into_iter().collect()
            }
            Event::ActivationStarted { attempt, .. } => match known.told {
                Told::Nothing => self.start(task, known).into_iter().collect(),
                Told::Started if attempt.0 == 1 => Vec::new(),
                Told::Started => vec![self.updated(task, json!({ "status": "running" }))],
                Told::Over => {
                    known.begin_anew(at);
                    vec![self.updated(task, json!({ "status": "running" })), self.started(task, known)]
                }
            },
            Event::TurnAnswered { content, usage, .. } => {
                let calls = content.iter().filter_map(|block| match block {
                    Block::Call(call) => Some(call.tool.as_str()),
                    Block::Text { .. } | Block::Thinking { .. } | Block::Opaque { .. } => None,
                });
                let calls: Vec<&str> = calls.collect();
                known.use_up(*usage, calls.len());
                vec![self.progress(task, known, at, calls.last().copied())]
            }
            Event::TaskPromoted => {
                known.background = true;
                vec![self.updated(task, json!({ "is_backgrounded": true }))]
            }
            Event::TaskParked { .. } | Event::TaskInterrupted => {
                vec![self.updated(task, json!({ "status": "paused" }))]
            }
            Event::TaskRequeued if known.told == Told::Started => {
                vec![self.updated(task, json!({ "status": "pending" }))]
            }
            Event::ActivationEnded { outcome, text: words, .. } => {
                known.said = text(words);
                self.over(task, known, at, outcome)
            }
            Event::TaskFinished { outcome } => self.over(task, known, at, outcome),
            _other => Vec::new(),
        }
    }

    fn start(&self, task: TaskId, known: &mut Known) -> Option<Value> {
        (known.told == Told::Nothing).then(|| {
            known.told = Told::Started;
            self.started(task, known)
        })
    }

    fn over(&self, task: TaskId, known: &mut Known, at: At, outcome: &Outcome) -> Vec<Value> {
        if known.told == Told::Over {
            return Vec::new();
        }
        let started = self.start(task, known);
        let ended = self.ended(task, known, at, outcome);
        known.end();
        started.into_iter().chain(ended).collect()
    }
}

#[cfg(test)]
mod tests;
