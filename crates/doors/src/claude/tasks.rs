//! Tasks below the session's own agent, in the frames that clients know: started, progress, updated, notification.
//!
//! Everything is folded from events, so a client that comes back is told of what is still at work.

mod control;
mod frames;
mod known;

use std::collections::BTreeMap;

use protocol::{At, Block, Body, Envelope, Event, Kind, Origin, Outcome, TaskId, TaskSpec};
use serde_json::{Value, json};
use uuid::Uuid;

pub use control::{background, output, stop};
use known::{Known, Told, text};

/// The tasks of a session, as a client is told of them.
#[derive(Debug)]
pub struct Tasks {
    session: Uuid,
    /// Our name of a tool in the client's words.
    tool: fn(&str) -> String,
    root: Option<TaskId>,
    tasks: BTreeMap<TaskId, Known>,
    woken: Woken,
}

/// What the root was last woken by.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Woken {
    #[default]
    ByUser,
    ByTask,
}

/// Who speaks in a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Speaker {
    /// The tool call that started it.
    pub parent_tool_use_id: Option<String>,
    /// What sort of agent it is.
    pub subagent_type: String,
    /// What it is for.
    pub description: String,
}

impl Tasks {
    /// Nothing is known of a session's tasks so far.
    pub fn new(session: Uuid, tool: fn(&str) -> String) -> Tasks {
        Tasks { session, tool, root: None, tasks: BTreeMap::new(), woken: Woken::default() }
    }

    /// Whether a task is the session's own agent.
    pub fn is_root(&self, task: TaskId) -> bool {
        self.root == Some(task)
    }

    /// Who a task below the root is.
    pub fn speaker(&self, task: TaskId) -> Option<Speaker> {
        self.tasks.get(&task).map(|known| Speaker {
            parent_tool_use_id: known.spec.call.as_ref().map(ToString::to_string),
            subagent_type: known.spec.agent.clone(),
            description: known.spec.description.clone(),
        })
    }

    /// How many agents below the root are at work, or wait for their turn.
    pub fn agents(&self) -> usize {
        self.tasks.values().filter(|known| known.spec.kind == Kind::Agent && known.told == Told::Started).count()
    }

    /// The tasks that are at work for a tool call; all that are at work without one.
    pub fn live(&self, call: Option<&str>) -> Vec<TaskId> {
        let wanted = |known: &Known| call.is_none_or(|call| known.spec.call.as_ref().is_some_and(|own| own.0 == call));
        let live = self.tasks.iter().filter(|(_, known)| known.told == Told::Started && wanted(known));
        live.map(|(id, _)| *id).collect()
    }

    /// Where the result of the root's turn comes from, if not from a message of the user.
    pub fn origin(&self) -> Option<Value> {
        match self.woken {
            Woken::ByUser => None,
            Woken::ByTask => Some(json!({ "kind": "task-notification" })),
        }
    }

    /// The frames that tell a client of everything that is at work.
    pub fn recap(&self) -> Vec<Value> {
        let live = self.tasks.iter().filter(|(_, known)| known.told == Told::Started);
        let started: Vec<Value> = live.map(|(id, known)| self.started(*id, known)).collect();
        let behind = self.tasks.values().any(Known::is_behind).then(|| self.behind());
        started.into_iter().chain(behind).collect()
    }

    /// Follows an event, and gives the frames that it comes to.
    pub fn follow(&mut self, envelope: &Envelope) -> Vec<Value> {
        let (task, at) = (envelope.entry.task, envelope.entry.at);
        if let Event::TaskCreated(spec) = &envelope.entry.event {
            self.create(task, spec, at);
        }
        if self.is_root(task) {
            self.wake(&envelope.entry.event);
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

    /// Keeps what the root is woken by. What reaches it while it is at work for its user wakes nobody.
    fn wake(&mut self, event: &Event) {
        let Event::MailAdmitted { from, body, .. } = event else { return };
        self.woken = match (from, body) {
            (Origin::User, _) => Woken::ByUser,
            (Origin::Task { .. } | Origin::Runtime, Body::Result { .. }) => Woken::ByTask,
            (Origin::Task { .. } | Origin::Runtime, Body::Text { .. }) => self.woken,
        };
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
        known.told = Told::Over;
        started.into_iter().chain(self.ended(task, known, at, outcome)).collect()
    }
}

#[cfg(test)]
mod tests;
