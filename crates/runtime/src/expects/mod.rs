//! What is expected of an agent's result, and whether it holds. The runtime looks; the agent's word does not count.

mod command;
mod files;
mod schema;
mod snapshot;

use std::sync::Arc;

use protocol::{Expects, Run, TaskId};

pub(crate) use command::missing_at as command_at;
pub(crate) use files::patterns;
pub(crate) use snapshot::Snapshot;

use crate::agent::Desk;

/// How what is expected compares with what is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Finding {
    /// All of it holds.
    Met,
    /// This is missing, in words for the agent, which may bring it.
    Missing(String),
    /// It cannot be looked at, and nothing that the agent does would change that.
    Hopeless(String),
}

/// Refuses what could never be looked at, in words.
pub(crate) fn check(expects: &Expects) -> Result<(), String> {
    files::patterns(&expects.files)?;
    expects.schema.as_ref().map_or(Ok(()), check_schema)
}

/// Refuses a JSON Schema that no answer could be held against, in words.
pub fn check_schema(schema: &serde_json::Value) -> Result<(), String> {
    schema::validator(schema).map(|_validator| ())
}

/// What keeps a text from being JSON that satisfies a schema, in words for whoever wrote it; an error says why nobody
/// can tell.
pub async fn schema_mistakes(schema: serde_json::Value, text: String) -> Result<Option<String>, String> {
    schema::missing(schema, text).await
}

/// Remembers what the files look like that a task is to change, once for all its activations in this process.
pub(crate) async fn remember(desk: &Arc<Desk>, task: TaskId) {
    let files = desk.roster.known(task, |known| known.spec.expects.as_ref().map(|expects| expects.files.clone()));
    let Some(files) = files.flatten().filter(|files| !files.is_empty() && !desk.is_remembered(task)) else { return };
    if let Some(snapshot) = files::declared(desk, task, files).await {
        desk.remember(task, snapshot);
    }
}

/// Looks whether everything holds that is expected of a run's task; `said` is its final text.
pub(crate) async fn look(desk: &Arc<Desk>, run: Run, expects: &Expects, said: &str) -> Finding {
    let mut missing = Vec::new();
    match files::missing(desk, run.task, &expects.files).await {
        Ok(words) => missing.extend(words),
        Err(words) => return Finding::Hopeless(words),
    }
    if let Some(schema) = &expects.schema {
        match schema::missing(schema.clone(), said.to_owned()).await {
            Ok(words) => missing.extend(words),
            Err(words) => return Finding::Hopeless(words),
        }
    }
    if let Some(command) = &expects.command {
        match command::missing(desk, run, command).await {
            Ok(words) => missing.extend(words),
            Err(words) => return Finding::Hopeless(words),
        }
    }
    if missing.is_empty() { Finding::Met } else { Finding::Missing(missing.join("\n")) }
}
