//! Tasks in the SDK's format.

use protocol::api::{TaskRecord, TaskView};
use protocol::{CallId, Evidence, TaskForm, TaskMode, TaskOutcome, TaskState};
use serde_json::{Value, json};

use crate::copilot::client_tasks::{self, ClientTask};

/// Maximum lines of recent activity.
const MAX_ACTIVITY_LINES: usize = 20;

/// A task in the exact format of its kind. `call` is the tool call that started it.
pub(super) fn task_json(task: &TaskView, call: Option<&CallId>) -> Value {
    let mut view = match task.kind.form() {
        TaskForm::Command => shell_json(task),
        TaskForm::Agent | TaskForm::Question => agent_json(task, call),
        TaskForm::Reported => match ClientTask::of(task) {
            Some(client_task) => return client_tasks::task_view(client_task),
            // The format has no kind for tasks of MCP servers.
            None => agent_json(task, call),
        },
    };
    if let Some(at) = task.ended_at.filter(|_| is_over(task)) {
        view["completedAt"] = at.to_string().into();
    }
    view["canPromoteToBackground"] = is_promotable(task).into();
    view
}

/// Whether the root waits for the task and could continue without it.
pub(super) fn is_promotable(task: &TaskView) -> bool {
    task.mode == TaskMode::Sync && task.depth == 1 && is_active(task)
}

/// The progress of an agent.
pub(super) fn progress(record: &TaskRecord) -> Value {
    let at = record.task.updated_at.to_string();
    let newest = record.evidence.iter().rev().take(MAX_ACTIVITY_LINES).rev();
    let lines: Vec<Value> =
        newest.map(|evidence| json!({ "message": activity_line(evidence), "timestamp": at })).collect();
    let mut view = json!({ "type": "agent", "recentActivity": lines });
    if let Some(intent) = &record.task.intent {
        view["latestIntent"] = intent.as_str().into();
    }
    view
}

/// The status of a task. An agent that is idle after a failure counts as failed until it is prompted again.
pub(super) fn status(task: &TaskView) -> &'static str {
    let outcome = match (&task.state, &task.last_outcome) {
        (TaskState::Finished { outcome }, _) => outcome,
        (TaskState::Idle, Some(TaskOutcome::Completed) | None) => return "idle",
        (TaskState::Idle, Some(outcome)) => outcome,
        (TaskState::Queued | TaskState::Running | TaskState::Parked { .. } | TaskState::Interrupted, _) => {
            return "running";
        }
    };
    match outcome {
        TaskOutcome::Completed => "completed",
        TaskOutcome::Cancelled { .. } => "cancelled",
        TaskOutcome::Failed { .. }
        | TaskOutcome::TimedOut { .. }
        | TaskOutcome::BudgetExhausted
        | TaskOutcome::Lost => "failed",
    }
}

fn shell_json(task: &TaskView) -> Value {
    json!({
        "type": "shell",
        "id": task.id.to_string(),
        "description": description_of(task),
        "status": status(task),
        "startedAt": started_at(task),
        "command": task.prompt.as_deref().unwrap_or_default(),
        "attachmentMode": "attached",
        "executionMode": execution_mode(task),
    })
}

fn agent_json(task: &TaskView, call: Option<&CallId>) -> Value {
    let mut view = json!({
        "type": "agent",
        "id": task.id.to_string(),
        "toolCallId": call.map_or_else(|| task.id.to_string(), ToString::to_string),
        "displayName": task.name,
        "description": description_of(task),
        "status": status(task),
        "startedAt": started_at(task),
        "agentType": task.agent,
        "prompt": task.prompt.as_deref().unwrap_or_default(),
        "executionMode": execution_mode(task),
    });
    let mut set = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            view[name] = value;
        }
    };
    set("error", error_text(task).map(Value::from));
    set("result", task.result.as_deref().filter(|_| is_over(task)).map(Value::from));
    set("latestResponse", task.result.as_deref().map(Value::from));
    set("model", task.model.as_ref().and_then(|model| model.requested.as_deref()).map(Value::from));
    let effective = task.model.as_ref().map(|model| model.effective.as_str());
    set("resolvedModel", task.reported_model.as_deref().or(effective).map(Value::from));
    set("activeStartedAt", task.started_at.filter(|_| is_active(task)).map(|at| at.to_string().into()));
    set("idleSince", task.ended_at.filter(|_| task.state == TaskState::Idle).map(|at| at.to_string().into()));
    let active_ms = task.started_at.zip(task.ended_at).map(|(from, to)| to.0.saturating_sub(from.0));
    set("activeTimeMs", active_ms.map(Value::from));
    view
}

fn error_text(task: &TaskView) -> Option<String> {
    let outcome = match &task.state {
        TaskState::Finished { outcome } => Some(outcome),
        TaskState::Idle => task.last_outcome.as_ref(),
        TaskState::Queued | TaskState::Running | TaskState::Parked { .. } | TaskState::Interrupted => None,
    };
    match outcome? {
        TaskOutcome::Completed | TaskOutcome::Cancelled { .. } => None,
        TaskOutcome::Failed { message, .. } => Some(message.clone()),
        other @ (TaskOutcome::TimedOut { .. } | TaskOutcome::BudgetExhausted | TaskOutcome::Lost) => {
            Some(other.as_str().into())
        }
    }
}

fn is_active(task: &TaskView) -> bool {
    match &task.state {
        TaskState::Queued | TaskState::Running | TaskState::Parked { .. } | TaskState::Interrupted => true,
        TaskState::Idle | TaskState::Finished { .. } => false,
    }
}

fn is_over(task: &TaskView) -> bool {
    !is_active(task)
}

fn description_of(task: &TaskView) -> &str {
    if task.description.is_empty() { &task.name } else { &task.description }
}

fn started_at(task: &TaskView) -> String {
    task.started_at.unwrap_or(task.created_at).to_string()
}

fn execution_mode(task: &TaskView) -> &'static str {
    match task.mode {
        TaskMode::Sync => "sync",
        TaskMode::Background => "background",
    }
}

fn activity_line(evidence: &Evidence) -> String {
    match evidence {
        Evidence::Changed { path } => format!("changed {path}"),
        Evidence::Ran { command, exit: Some(code) } => format!("ran `{command}`, exit code {code}"),
        Evidence::Ran { command, exit: None } => format!("ran `{command}`"),
    }
}
