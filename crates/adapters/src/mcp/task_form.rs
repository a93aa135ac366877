//! The forms of tasks on the wire: that of 2025-11-25, and that of the extension of 2026-07-28.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::revision::RELATED_TASK_META;
use super::{ProvidedTask, ProvidedTaskState};

/// A task in the form of 2025-11-25, in which the failure of a tool is a failed task.
pub(crate) fn session_task(task: &ProvidedTask) -> Map<String, Value> {
    let status = match &task.state {
        ProvidedTaskState::Completed(result) if result.get("isError") == Some(&Value::Bool(true)) => "failed",
        state => status_name(state),
    };
    let mut fields = common_fields(task, status);
    fields.insert("ttl".into(), task.ttl.map(milliseconds).into());
    fields.insert("pollInterval".into(), milliseconds(task.poll).into());
    fields
}

/// A task in the form of the extension, without what it asks for and without its result.
pub(crate) fn extension_task(task: &ProvidedTask) -> Map<String, Value> {
    let mut fields = common_fields(task, status_name(&task.state));
    fields.insert("ttlMs".into(), task.ttl.map(milliseconds).into());
    fields.insert("pollIntervalMs".into(), milliseconds(task.poll).into());
    fields
}

/// A task in the form of the extension, with what it asks for, or with its result.
pub(crate) fn detailed_task(task: &ProvidedTask) -> Map<String, Value> {
    let mut fields = extension_task(task);
    let detail = match &task.state {
        ProvidedTaskState::Working | ProvidedTaskState::Cancelled => None,
        ProvidedTaskState::InputRequired(requests) => Some(("inputRequests", Value::Object(requests.clone()))),
        ProvidedTaskState::Completed(result) => {
            let mut result = result.clone();
            result.entry("resultType").or_insert_with(|| "complete".into());
            Some(("result", Value::Object(result)))
        }
        ProvidedTaskState::Failed(error) => Some(("error", error.clone().into())),
    };
    fields.extend(detail.map(|(name, detail)| (name.to_owned(), detail)));
    fields
}

/// The `_meta` of a message that belongs to a task of 2025-11-25.
pub(crate) fn related_task(id: &str) -> Value {
    json!({ RELATED_TASK_META: { "taskId": id } })
}

fn common_fields(task: &ProvidedTask, status: &str) -> Map<String, Value> {
    let mut fields = Map::new();
    fields.insert("taskId".into(), task.id.as_str().into());
    fields.insert("status".into(), status.into());
    if let Some(message) = &task.message {
        fields.insert("statusMessage".into(), message.as_str().into());
    }
    fields.insert("createdAt".into(), task.created_at.to_string().into());
    fields.insert("lastUpdatedAt".into(), task.updated_at.to_string().into());
    fields
}

fn status_name(state: &ProvidedTaskState) -> &'static str {
    match state {
        ProvidedTaskState::Working => "working",
        ProvidedTaskState::InputRequired(_) => "input_required",
        ProvidedTaskState::Completed(_) => "completed",
        ProvidedTaskState::Failed(_) => "failed",
        ProvidedTaskState::Cancelled => "cancelled",
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
