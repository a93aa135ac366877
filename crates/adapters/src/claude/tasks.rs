//! Reports tasks below the root to clients, in the SDK's task frames: started, progress, updated, notification.
//!
//! All state is derived from events, so a client that reconnects learns which tasks still run.

mod control;
mod frames;
mod tracked_task;

use std::collections::BTreeMap;

use protocol::{ContentBlock, Envelope, Event, MailBody, TaskId, TaskOutcome, TaskSpec, Timestamp};
use serde_json::{Value, json};
use uuid::Uuid;

pub(super) use control::{background, output, stop};
use tracked_task::{ReportedState, TrackedTask, clip_text};

/// Reports the tasks of a session to a client.
#[derive(Debug)]
pub(super) struct TaskReporter {
    session: Uuid,
    /// Converts Bosun's tool name to Claude's.
    claude_tool_name: fn(&str) -> String,
    root: Option<TaskId>,
    tasks: BTreeMap<TaskId, TrackedTask>,
}

impl TaskReporter {
    /// Creates a reporter without any tasks.
    pub(super) fn new(session: Uuid, tool: fn(&str) -> String) -> TaskReporter {
        TaskReporter { session, claude_tool_name: tool, root: None, tasks: BTreeMap::new() }
    }

    fn is_root(&self, task: TaskId) -> bool {
        self.root == Some(task)
    }

    /// The number of agents below the root that were reported as started and have not ended.
    pub(super) fn active_agents(&self) -> usize {
        self.tasks
            .values()
            .filter(|task| task.spec.kind.is_subagent() && task.reported == ReportedState::Started)
            .count()
    }

    /// The running tasks of a tool call, or all running tasks.
    pub(super) fn running_tasks(&self, call: Option<&str>) -> Vec<TaskId> {
        let is_requested = |task: &TrackedTask| {
            call.is_none_or(|call| task.spec.call.as_ref().is_some_and(|task_call| task_call.0 == call))
        };
        let running =
            self.tasks.iter().filter(|(_, task)| task.reported == ReportedState::Started && is_requested(task));
        running.map(|(id, _)| *id).collect()
    }

    /// The frames about all running tasks, for a client that connects.
    pub(super) fn running_task_frames(&self) -> Vec<Value> {
        let running = self.tasks.iter().filter(|(_, task)| task.reported == ReportedState::Started);
        let started: Vec<Value> = running.map(|(id, task)| self.started_frame(*id, task)).collect();
        let background = self.tasks.values().any(TrackedTask::is_in_background).then(|| self.background_frame());
        started.into_iter().chain(background).collect()
    }

    /// Applies an event to the tasks, and returns the frames to send for it.
    pub(super) fn apply_event(&mut self, envelope: &Envelope) -> Vec<Value> {
        let (task, at) = (envelope.entry.task, envelope.entry.at);
        if let Event::TaskCreated(spec) = &envelope.entry.event
            && !spec.kind.is_hidden()
        {
            self.add_task(task, spec, at);
        }
        let Some(mut tracked) = self.tasks.remove(&task) else { return Vec::new() };
        let was_in_background = tracked.is_in_background();
        let mut frames = self.handle_event(task, &mut tracked, at, &envelope.entry.event);
        let changed = was_in_background != tracked.is_in_background();
        self.tasks.insert(task, tracked);
        frames.extend(changed.then(|| self.background_frame()));
        frames
    }

    fn add_task(&mut self, task: TaskId, spec: &TaskSpec, at: Timestamp) {
        let Some(parent) = spec.parent else {
            self.root = Some(task);
            return;
        };
        let depth = self.tasks.get(&parent).map_or(1, |parent| parent.depth + 1);
        self.tasks.insert(task, TrackedTask::new(spec, depth, at));
    }

    fn handle_event(&self, task: TaskId, tracked: &mut TrackedTask, at: Timestamp, event: &Event) -> Vec<Value> {
        match event {
            Event::MailAdmitted { body: MailBody::Text { text: message, .. }, .. } => {
                tracked.prompt.get_or_insert_with(|| clip_text(message));
                self.report_start(task, tracked).into_iter().collect()
            }
            Event::ActivationStarted { attempt, .. } => match tracked.reported {
                ReportedState::Unreported => self.report_start(task, tracked).into_iter().collect(),
                ReportedState::Started if attempt.0 == 1 => Vec::new(),
                ReportedState::Started => vec![self.updated_frame(task, json!({ "status": "running" }))],
                ReportedState::Ended => {
                    tracked.restart(at);
                    vec![self.updated_frame(task, json!({ "status": "running" })), self.started_frame(task, tracked)]
                }
            },
            Event::TurnAnswered { content, usage, .. } => {
                let calls = content.iter().filter_map(|block| match block {
                    ContentBlock::Call(call) => Some(call.tool.as_str()),
                    ContentBlock::Text { .. } | ContentBlock::Thinking { .. } | ContentBlock::Opaque { .. } => None,
                });
                let calls: Vec<&str> = calls.collect();
                tracked.add_usage(*usage, calls.len());
                vec![self.progress_frame(task, tracked, at, calls.last().copied())]
            }
            Event::TaskPromoted => {
                tracked.background = true;
                vec![self.updated_frame(task, json!({ "is_backgrounded": true }))]
            }
            Event::TaskParked { .. } | Event::TaskInterrupted => {
                vec![self.updated_frame(task, json!({ "status": "paused" }))]
            }
            Event::TaskRequeued if tracked.reported == ReportedState::Started => {
                vec![self.updated_frame(task, json!({ "status": "pending" }))]
            }
            Event::ActivationEnded { outcome, text: message, .. } => {
                tracked.last_text = clip_text(message);
                self.report_end(task, tracked, at, outcome)
            }
            Event::TaskFinished { outcome } => self.report_end(task, tracked, at, outcome),
            _other => Vec::new(),
        }
    }

    fn report_start(&self, task: TaskId, tracked: &mut TrackedTask) -> Option<Value> {
        (tracked.reported == ReportedState::Unreported).then(|| {
            tracked.reported = ReportedState::Started;
            self.started_frame(task, tracked)
        })
    }

    fn report_end(&self, task: TaskId, tracked: &mut TrackedTask, at: Timestamp, outcome: &TaskOutcome) -> Vec<Value> {
        if tracked.reported == ReportedState::Ended {
            return Vec::new();
        }
        let started = self.report_start(task, tracked);
        let ended = self.end_frames(task, tracked, at, outcome);
        tracked.mark_ended();
        started.into_iter().chain(ended).collect()
    }
}

#[cfg(test)]
mod tests;
