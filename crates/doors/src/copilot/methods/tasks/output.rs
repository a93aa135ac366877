//! `session.tasks.readOutput`: what a task printed since a client last looked.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use protocol::TaskId;
use protocol::api::{Method, OutputResult, TaskParams};
use rpc::ErrorObject;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::super::fields::{maybe, text};
use super::{record, view};
use crate::copilot::held::Held;

/// Longest that a call waits for more.
const LONGEST: Duration = Duration::from_secs(30);

/// How long it waits before it looks again: nobody is told of output.
const PAUSE: Duration = Duration::from_millis(100);

/// What is new, or how the task ended; waits a while for either.
pub(super) async fn read(session: &Held, params: &Value) -> Result<Value, ErrorObject> {
    let id = text(params, "id")?;
    let cursor = maybe(params, "cursor").map(Cursor::read).unwrap_or_default();
    let patience = Duration::from_millis(params["waitMs"].as_u64().unwrap_or_default()).min(LONGEST);
    let until = Instant::now() + patience;
    loop {
        let record =
            record(session, id).await?.ok_or_else(|| ErrorObject::internal(format!("Task not found: {id}")))?;
        let status = view::status(&record.task);
        let printed = printed(session, record.task.id).await?;
        let new = cursor.rest(&printed);
        if !new.is_empty() || status != "running" || Instant::now() >= until {
            let mut answer = json!({ "text": new, "cursor": Cursor::of(&printed).to_string() });
            if status != "running" {
                answer["exit"] = json!({ "status": status });
                if status == "completed" {
                    answer["exit"]["exitCode"] = 0.into();
                }
            }
            return Ok(answer);
        }
        sleep(PAUSE).await;
    }
}

pub(super) async fn printed(session: &Held, task: TaskId) -> Result<String, ErrorObject> {
    let OutputResult { output } = session.call(Method::TasksOutput, TaskParams { task }).await?;
    Ok(output)
}

/// How far a client has read: so many bytes, and what they were. Output whose middle was left out meanwhile is told
/// again: nothing is lost, and at worst something comes twice.
#[derive(Debug, Default, PartialEq, Eq)]
struct Cursor {
    bytes: usize,
    digest: u64,
}

impl Cursor {
    fn of(text: &str) -> Cursor {
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        Cursor { bytes: text.len(), digest: hasher.finish() }
    }

    fn read(given: &str) -> Cursor {
        let parts = given.split_once('-').and_then(|(bytes, digest)| {
            Some(Cursor { bytes: bytes.parse().ok()?, digest: u64::from_str_radix(digest, 16).ok()? })
        });
        parts.unwrap_or_default()
    }

    fn rest<'a>(&self, text: &'a str) -> &'a str {
        match text.get(..self.bytes) {
            Some(seen) if Cursor::of(seen) == *self => &text[self.bytes..],
            Some(_) | None => text,
        }
    }
}

impl std::fmt::Display for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{:x}", self.bytes, self.digest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d1_a_cursor_tells_what_is_new_and_loses_nothing() {
        let first = Cursor::of("one\n");
        assert_eq!(Cursor::read(&first.to_string()), first);
        assert_eq!(first.rest("one\ntwo\n"), "two\n");
        assert_eq!(first.rest("one\n"), "");
        assert_eq!(first.rest("on… left out …two\n"), "on… left out …two\n");
        assert_eq!(Cursor::read("nonsense").rest("all"), "all");
        assert_eq!(Cursor { bytes: 1, digest: 0 }.rest("é"), "é");
    }
}
