//! The task frames.

use protocol::{TaskForm, TaskId, TaskOutcome, Timestamp};
use serde_json::{Value, json};
use uuid::Uuid;

use super::TaskReporter;
use super::tracked_task::{TaskEndStatus, TrackedTask};

impl TaskReporter {
    pub(super) fn started_frame(&self, task: TaskId, tracked: &TrackedTask) -> Value {
        let mut fields = common_fields(task, tracked);
        fields["task_type"] = task_type(tracked).into();
        fields["spawn_depth"] = tracked.depth.into();
        fields["is_backgrounded"] = tracked.background.into();
        if let Some(prompt) = &tracked.prompt {
            fields["prompt"] = prompt.clone().into();
        }
        if let Some(parent) = tracked.spec.parent.filter(|parent| !self.is_root(*parent)) {
            fields["parent_task_id"] = parent.to_string().into();
        }
        self.frame("task_started", fields)
    }

    pub(super) fn progress_frame(
        &self,
        task: TaskId,
        tracked: &TrackedTask,
        at: Timestamp,
        tool: Option<&str>,
    ) -> Value {
        let mut fields = common_fields(task, tracked);
        fields["usage"] = usage_json(tracked, at);
        if let Some(tool) = tool {
            fields["last_tool_name"] = (self.claude_tool_name)(tool).into();
        }
        self.frame("task_progress", fields)
    }

    pub(super) fn updated_frame(&self, task: TaskId, patch: Value) -> Value {
        self.frame("task_updated", json!({ "task_id": task.to_string(), "patch": patch }))
    }

    pub(super) fn end_frames(
        &self,
        task: TaskId,
        tracked: &TrackedTask,
        at: Timestamp,
        outcome: &TaskOutcome,
    ) -> [Value; 2] {
        let TaskEndStatus { status, notification_status, error } = TaskEndStatus::from_outcome(outcome);
        let mut patch = json!({ "status": status, "end_time": at.0 });
        if let Some(error) = &error {
            patch["error"] = error.clone().into();
        }
        let summary = match tracked.last_text.is_empty() {
            true => error.unwrap_or_else(|| outcome.as_str().to_owned()),
            false => tracked.last_text.clone(),
        };
        let mut fields = common_fields(task, tracked);
        fields["status"] = notification_status.into();
        // The task's text is in the summary and in its session file.
        fields["output_file"] = "".into();
        fields["summary"] = summary.into();
        fields["usage"] = usage_json(tracked, at);
        [self.updated_frame(task, patch), self.frame("task_notification", fields)]
    }

    /// All tasks that run in the background.
    pub(super) fn background_frame(&self) -> Value {
        let row = |(id, tracked): (&TaskId, &TrackedTask)| {
            let mut row = common_fields(*id, tracked);
            row["task_type"] = task_type(tracked).into();
            row
        };
        let rows: Vec<Value> = self.tasks.iter().filter(|(_, tracked)| tracked.is_in_background()).map(row).collect();
        self.frame("background_tasks_changed", json!({ "tasks": rows }))
    }

    fn frame(&self, subtype: &str, mut fields: Value) -> Value {
        fields["type"] = "system".into();
        fields["subtype"] = subtype.into();
        fields["uuid"] = Uuid::now_v7().to_string().into();
        fields["session_id"] = self.session.to_string().into();
        fields
    }
}

/// The fields that all task frames share.
fn common_fields(task: TaskId, tracked: &TrackedTask) -> Value {
    let mut fields = json!({ "task_id": task.to_string(), "description": tracked.spec.description });
    if let Some(call) = &tracked.spec.call {
        fields["tool_use_id"] = call.to_string().into();
    }
    if tracked.spec.kind.is_subagent() {
        fields["subagent_type"] = tracked.spec.agent.clone().into();
    }
    fields
}

fn usage_json(tracked: &TrackedTask, at: Timestamp) -> Value {
    let duration = u64::try_from(at.since(tracked.started_at).as_millis()).unwrap_or(u64::MAX);
    json!({ "total_tokens": tracked.usage.total(), "tool_uses": tracked.tool_uses, "duration_ms": duration })
}

fn task_type(tracked: &TrackedTask) -> &'static str {
    match tracked.spec.kind.form() {
        TaskForm::Agent | TaskForm::Question => "local_agent",
        TaskForm::Command | TaskForm::Reported => "local_bash",
    }
}
