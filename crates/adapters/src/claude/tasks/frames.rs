//! The frames themselves.

use protocol::{TaskId, TaskOutcome, TaskType, Timestamp};
use serde_json::{Value, json};
use uuid::Uuid;

use super::TaskReporter;
use super::tracked_task::{TaskEndStatus, TrackedTask};

impl TaskReporter {
    pub(super) fn started(&self, task: TaskId, known: &TrackedTask) -> Value {
        let mut fields = head(task, known);
        fields["task_type"] = kind(known).into();
        fields["spawn_depth"] = known.depth.into();
        fields["is_backgrounded"] = known.background.into();
        if let Some(prompt) = &known.prompt {
            fields["prompt"] = prompt.clone().into();
        }
        if let Some(parent) = known.spec.parent.filter(|parent| !self.is_root(*parent)) {
            fields["parent_task_id"] = parent.to_string().into();
        }
        self.frame("task_started", fields)
    }

    pub(super) fn progress(&self, task: TaskId, known: &TrackedTask, at: Timestamp, tool: Option<&str>) -> Value {
        let mut fields = head(task, known);
        fields["usage"] = usage_json(known, at);
        if let Some(tool) = tool {
            fields["last_tool_name"] = (self.tool)(tool).into();
        }
        self.frame("task_progress", fields)
    }

    pub(super) fn updated(&self, task: TaskId, patch: Value) -> Value {
        self.frame("task_updated", json!({ "task_id": task.to_string(), "patch": patch }))
    }

    pub(super) fn ended(&self, task: TaskId, known: &TrackedTask, at: Timestamp, outcome: &TaskOutcome) -> [Value; 2] {
        let TaskEndStatus { status, word, error } = TaskEndStatus::of(outcome);
        let mut patch = json!({ "status": status, "end_time": at.0 });
        if let Some(error) = &error {
            patch["error"] = error.clone().into();
        }
        let summary = match known.last_text.is_empty() {
            true => error.unwrap_or_else(|| outcome.as_str().to_owned()),
            false => known.last_text.clone(),
        };
        let mut fields = head(task, known);
        fields["status"] = word.into();
        // What it said is in the summary, and in its session file.
        fields["output_file"] = "".into();
        fields["summary"] = summary.into();
        fields["usage"] = usage_json(known, at);
        [self.updated(task, patch), self.frame("task_notification", fields)]
    }

    /// Everything that is at work in the background.
    pub(super) fn behind(&self) -> Value {
        let row = |(id, known): (&TaskId, &TrackedTask)| {
            let mut row = head(*id, known);
            row["task_type"] = kind(known).into();
            row
        };
        let rows: Vec<Value> = self.tasks.iter().filter(|(_, known)| known.is_in_background()).map(row).collect();
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

/// What every frame about a task says.
fn head(task: TaskId, known: &TrackedTask) -> Value {
    let mut fields = json!({ "task_id": task.to_string(), "description": known.spec.description });
    if let Some(call) = &known.spec.call {
        fields["tool_use_id"] = call.to_string().into();
    }
    if known.spec.kind == TaskType::Agent {
        fields["subagent_type"] = known.spec.agent.clone().into();
    }
    fields
}

fn usage_json(known: &TrackedTask, at: Timestamp) -> Value {
    let duration = u64::try_from(at.since(known.since).as_millis()).unwrap_or(u64::MAX);
    json!({ "total_tokens": known.usage.total(), "tool_uses": known.tool_uses, "duration_ms": duration })
}

fn kind(known: &TrackedTask) -> &'static str {
    match known.spec.kind {
        TaskType::Main | TaskType::Agent => "local_agent",
        TaskType::Shell => "local_bash",
    }
}
