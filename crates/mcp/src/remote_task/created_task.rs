//! The beginning of a task: what the server says of it in the answer to a call.

use std::time::Duration;

use protocol::{McpRemoteTask, McpTaskForm};
use serde_json::{Map, Value};

use crate::link::ServerRequest;
use crate::{McpRevision, McpServer};

/// How long a server of the older form is asked to keep a task, in milliseconds.
pub(crate) const REQUESTED_TTL_MS: u64 = 24 * 60 * 60 * 1000;

/// How long a server may take to confirm that a task is cancelled.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum bytes of a task's id.
const MAX_ID_BYTES: usize = 1024;

/// The task in the result of a call, if the call became one; the error text says why it cannot be followed.
pub(crate) fn read_created(
    revision: McpRevision,
    result: &Map<String, Value>,
    progress_token: &str,
) -> Option<Result<McpRemoteTask, String>> {
    let (form, state) = match revision {
        McpRevision::Stateless if result.get("resultType").is_some_and(|kind| kind == "task") => {
            (McpTaskForm::Extension, result)
        }
        McpRevision::Session => (McpTaskForm::Session, result.get("task")?.as_object()?),
        McpRevision::Stateless => return None,
    };
    let id = state.get("taskId").and_then(Value::as_str).unwrap_or_default();
    if id.is_empty() || id.len() > MAX_ID_BYTES {
        return Some(Err(format!("its task has an id of {} bytes; 1 to {MAX_ID_BYTES} are allowed", id.len())));
    }
    let times = TaskTimes::read(form, state);
    Some(Ok(McpRemoteTask {
        id: id.to_owned(),
        form,
        progress_token: progress_token.to_owned(),
        ttl_ms: times.ttl_ms,
        poll_interval_ms: times.poll_interval_ms,
    }))
}

/// Asks the server to cancel a task.
pub(crate) async fn cancel(server: &McpServer, id: &str) {
    let request = ServerRequest::new("tasks/cancel", task_params(id), CANCEL_TIMEOUT);
    if let Err(error) = server.link().request(request).await {
        tracing::info!(%error, "a task of an MCP server may not be cancelled");
    }
}

/// The times that a server states for a task.
pub(super) struct TaskTimes {
    pub(super) ttl_ms: Option<u64>,
    pub(super) poll_interval_ms: Option<u64>,
}

impl TaskTimes {
    pub(super) fn read(form: McpTaskForm, state: &Map<String, Value>) -> TaskTimes {
        let (ttl, poll) = match form {
            McpTaskForm::Session => ("ttl", "pollInterval"),
            McpTaskForm::Extension => ("ttlMs", "pollIntervalMs"),
        };
        let milliseconds = |field: &str| state.get(field).and_then(Value::as_u64);
        TaskTimes { ttl_ms: milliseconds(ttl), poll_interval_ms: milliseconds(poll) }
    }
}

/// The parameters of a request about a task.
pub(super) fn task_params(id: &str) -> Map<String, Value> {
    Map::from_iter([("taskId".to_owned(), Value::from(id))])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn created(revision: McpRevision, result: Value) -> Option<Result<McpRemoteTask, String>> {
        read_created(revision, result.as_object().unwrap(), "c1")
    }

    #[test]
    fn tasks_are_recognised_in_the_form_of_their_revision() {
        let core = json!({ "task": { "taskId": "1", "status": "working", "ttl": 60000, "pollInterval": 500 } });
        let extension = json!({ "resultType": "task", "taskId": "1", "ttlMs": null, "pollIntervalMs": 500 });
        let task = |form, ttl_ms| McpRemoteTask {
            id: "1".into(),
            form,
            progress_token: "c1".into(),
            ttl_ms,
            poll_interval_ms: Some(500),
        };
        let session = created(McpRevision::Session, core.clone()).unwrap().unwrap();
        assert_eq!(session, task(McpTaskForm::Session, Some(60_000)));
        let stateless = created(McpRevision::Stateless, extension.clone()).unwrap().unwrap();
        assert_eq!(stateless, task(McpTaskForm::Extension, None));
        assert!(created(McpRevision::Stateless, core).is_none());
        assert!(created(McpRevision::Session, extension).is_none());
        assert!(created(McpRevision::Session, json!({ "content": [] })).is_none());
    }

    #[test]
    fn ids_have_a_maximum_length() {
        let with_id = |id: Value| created(McpRevision::Stateless, json!({ "resultType": "task", "taskId": id }));
        assert!(with_id(json!("x".repeat(1025))).unwrap().unwrap_err().contains("1025 bytes"));
        assert!(with_id(json!(7)).unwrap().unwrap_err().contains("0 bytes"));
    }
}
