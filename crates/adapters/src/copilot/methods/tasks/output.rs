//! `session.tasks.readOutput`: the output of a task since the client's last read.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use protocol::TaskId;
use protocol::api::{Method, OutputResult, TaskParams};
use rpc::ErrorObject;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::super::fields::{optional_text, required_text};
use super::{task_record, view};
use crate::copilot::hosted_session::HostedSession;

/// The maximum time that a call waits for more output.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// Polling interval: there are no events for output.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Returns new output, or how the task ended; waits a while for either.
pub(super) async fn read(session: &HostedSession, params: &Value) -> Result<Value, ErrorObject> {
    let id = required_text(params, "id")?;
    let cursor = optional_text(params, "cursor").map(OutputCursor::parse).unwrap_or_default();
    let wait = Duration::from_millis(params["waitMs"].as_u64().unwrap_or_default()).min(MAX_WAIT);
    let deadline = Instant::now() + wait;
    loop {
        let record =
            task_record(session, id).await?.ok_or_else(|| ErrorObject::internal(format!("Task not found: {id}")))?;
        let status = view::status(&record.task);
        let output = task_output(session, record.task.id).await?;
        let new_output = cursor.unread(&output);
        if !new_output.is_empty() || status != "running" || Instant::now() >= deadline {
            let mut answer = json!({ "text": new_output, "cursor": OutputCursor::after(&output).to_string() });
            if status != "running" {
                answer["exit"] = json!({ "status": status });
                if status == "completed" {
                    answer["exit"]["exitCode"] = 0.into();
                }
            }
            return Ok(answer);
        }
        sleep(POLL_INTERVAL).await;
    }
}

pub(crate) async fn task_output(session: &HostedSession, task: TaskId) -> Result<String, ErrorObject> {
    let OutputResult { output } = session.call(Method::TasksOutput, TaskParams { task }).await?;
    Ok(output)
}

/// A client's read position: the number of bytes, and their digest. If the middle of the output has been cut since
/// then, all of it is returned again: nothing is lost, but parts may be repeated.
#[derive(Debug, Default, PartialEq, Eq)]
struct OutputCursor {
    bytes: usize,
    digest: u64,
}

impl OutputCursor {
    fn after(text: &str) -> OutputCursor {
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        OutputCursor { bytes: text.len(), digest: hasher.finish() }
    }

    fn parse(text: &str) -> OutputCursor {
        let parts = text.split_once('-').and_then(|(bytes, digest)| {
            Some(OutputCursor { bytes: bytes.parse().ok()?, digest: u64::from_str_radix(digest, 16).ok()? })
        });
        parts.unwrap_or_default()
    }

    fn unread<'a>(&self, text: &'a str) -> &'a str {
        match text.get(..self.bytes) {
            Some(seen) if OutputCursor::after(seen) == *self => &text[self.bytes..],
            Some(_) | None => text,
        }
    }
}

impl std::fmt::Display for OutputCursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{:x}", self.bytes, self.digest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_return_new_output_and_lose_nothing() {
        let first = OutputCursor::after("one\n");
        assert_eq!(OutputCursor::parse(&first.to_string()), first);
        assert_eq!(first.unread("one\ntwo\n"), "two\n");
        assert_eq!(first.unread("one\n"), "");
        assert_eq!(first.unread("on… left out …two\n"), "on… left out …two\n");
        assert_eq!(OutputCursor::parse("nonsense").unread("all"), "all");
        assert_eq!(OutputCursor { bytes: 1, digest: 0 }.unread("é"), "é");
    }
}
