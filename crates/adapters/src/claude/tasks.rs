//! Tasks below the session's own agent, in the frames that clients know: started, progress, updated, notification.
//!
//! Everything is folded from events, so a client that comes back is told of what is still at work.

mod control;
mod frames;
mod tracked_task;

use std::collections::BTreeMap;

use protocol::{ContentBlock, Envelope, Event, MailBody, TaskId, TaskOutcome, TaskSpec, TaskType, Timestamp};
use serde_json::{Value, json};
use uuid::Uuid;

pub(super) use control::{background, output, stop};
use tracked_task::{ReportedState, TrackedTask, clip_text};

/// The tasks of a session, as a client is told of them.
#[derive(Debug)]
pub(super) struct TaskReporter {
    session: Uuid,
    /// Our name of a tool in the client's words.
    tool: fn(&str) -> String,
    root: Option<TaskId>,
    tasks: BTreeMap<TaskId, TrackedTask>,
}

impl TaskReporter {
    /// Nothing is known of a session's tasks so far.
    pub(super) fn new(session: Uuid, tool: fn(&str) -> String) -> TaskReporter {
        TaskReporter { session, tool, root: None, tasks: BTreeMap::new() }
    }

    fn is_root(&self, task: TaskId) -> bool {
        self.root == Some(task)
    }

    /// How many agents below the root are at work, or wait for their turn.
    pub(super) fn agents(&self) -> usize {
        self.tasks
            .values()
            .filter(|known| known.spec.kind == TaskType::Agent && known.reported == ReportedState::Started)
            .count()
    }

    /// The tasks that are at work for a tool call; all that are at work without one.
    pub(super) fn running(&self, call: Option<&str>) -> Vec<TaskId> {
        let wanted =
            |known: &TrackedTask| call.is_none_or(|call| known.spec.call.as_ref().is_some_and(|own| own.0 == call));
        let live = self.tasks.iter().filter(|(_, known)| known.reported == ReportedState::Started && wanted(known));
        live.map(|(id, _)| *id).collect()
    }

    /// The frames that tell a client of everything that is at work.
    pub(super) fn recap(&self) -> Vec<Value> {
        let live = self.tasks.iter().filter(|(_, known)| known.reported == ReportedState::Started);
        let started: Vec<Value> = live.map(|(id, known)| self.started(*id, known)).collect();
        let behind = self.tasks.values().any(TrackedTask::is_in_background).then(|| self.behind());
        started.into_iter().chain(behind).collect()
    }

    /// Follows an event, and gives the frames that it comes to.
    pub(super) fn follow(&mut self, envelope: &Envelope) -> Vec<Value> {
        let (task, at) = (envelope.entry.task, envelope.entry.at);
        if let Event::TaskCreated(spec) = &envelope.entry.event {
            self.create(task, spec, at);
        }
        let Some(mut known) = self.tasks.remove(&task) else { return Vec::new() };
        let was_behind = known.is_in_background();
        let mut frames = self.handle_event(task, &mut known, at, &envelope.entry.event);
        let changed = was_behind != known.is_in_background();
        self.tasks.insert(task, known);
        frames.extend(changed.then(|| self.behind()));
        frames
    }

    fn create(&mut self, task: TaskId, spec: &TaskSpec, at: Timestamp) {
        let Some(parent) = spec.parent else {
            self.root = Some(task);
            return;
        };
        let depth = self.tasks.get(&parent).map_or(1, |known| known.depth + 1);
        self.tasks.insert(task, TrackedTask::new(spec, depth, at));
    }

    fn handle_event(&self, task: TaskId, known: &mut TrackedTask, at: Timestamp, event: &Event) -> Vec<Value> {
        match event {
            Event::MailAdmitted { body: MailBody::Text { text: words, .. }, .. } => {
                known.prompt.get_or_insert_with(|| clip_text(words));
                self.start(task, known).into_iter().collect()
            }
            Event::ActivationStarted { attempt, .. } => match known.reported {
                ReportedState::Unreported => self.start(task, known).into_iter().collect(),
                ReportedState::Started if attempt.0 == 1 => Vec::new(),
                ReportedState::Started => vec![self.updated(task, json!({ "status": "running" }))],
                ReportedState::Over => {
                    known.restart(at);
                    vec![self.updated(task, json!({ "status": "running" })), self.started(task, known)]
                }
            },
            Event::TurnAnswered { content, usage, .. } => {
                let calls = content.iter().filter_map(|block| match block {
                    ContentBlock::Call(call) => Some(call.tool.as_str()),
                    ContentBlock::Text { .. } | ContentBlock::Thinking { .. } | ContentBlock::Opaque { .. } => None,
                });
                let calls: Vec<&str> = calls.collect();
                known.add_usage(*usage, calls.len());
                vec![self.progress(task, known, at, calls.last().copied())]
            }
            Event::TaskPromoted => {
                known.background = true;
                vec![self.updated(task, json!({ "is_backgrounded": true }))]
            }
            Event::TaskParked { .. } | Event::TaskInterrupted => {
                vec![self.updated(task, json!({ "status": "paused" }))]
            }
            Event::TaskRequeued if known.reported == ReportedState::Started => {
                vec![self.updated(task, json!({ "status": "pending" }))]
            }
            Event::ActivationEnded { outcome, text: words, .. } => {
                known.last_text = clip_text(words);
                self.finish(task, known, at, outcome)
            }
            Event::TaskFinished { outcome } => self.finish(task, known, at, outcome),
            _other => Vec::new(),
        }
    }

    fn start(&self, task: TaskId, known: &mut TrackedTask) -> Option<Value> {
        (known.reported == ReportedState::Unreported).then(|| {
            known.reported = ReportedState::Started;
            self.started(task, known)
        })
    }

    fn finish(&self, task: TaskId, known: &mut TrackedTask, at: Timestamp, outcome: &TaskOutcome) -> Vec<Value> {
        if known.reported == ReportedState::Over {
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
