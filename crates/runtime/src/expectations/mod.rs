//! What is expected of an agent's result, and whether it holds. The runtime looks; the agent's word does not count.

mod command;
mod files;
mod schema;
mod snapshot;

use std::sync::Arc;

use protocol::{Expectations, RunId, TaskId};

pub(crate) use command::check_command_at as command_at;
pub(crate) use files::compile_patterns;
pub(crate) use snapshot::FileSnapshot;

use crate::agent::SessionContext;

/// How what is expected compares with what is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ExpectationOutcome {
    /// All of it holds.
    Met,
    /// This is missing, in words for the agent, which may bring it.
    Missing(String),
    /// It cannot be looked at, and nothing that the agent does would change that.
    Uncheckable(String),
}

/// Refuses what could never be looked at, in words.
pub(crate) fn check(expects: &Expectations) -> Result<(), String> {
    files::compile_patterns(&expects.files)?;
    expects.schema.as_ref().map_or(Ok(()), check_schema)
}

/// Refuses a JSON Schema that no answer could be held against, in words.
pub fn check_schema(schema: &serde_json::Value) -> Result<(), String> {
    schema::validator(schema).map(|_validator| ())
}

/// What keeps a text from being JSON that satisfies a schema, in words for whoever wrote it; an error says why nobody
/// can tell.
pub async fn schema_mistakes(schema: serde_json::Value, text: String) -> Result<Option<String>, String> {
    schema::check_text(schema, text).await
}

/// Remembers what the files look like that a task is to change, once for all its activations in this process.
pub(crate) async fn remember_files(context: &Arc<SessionContext>, task: TaskId) {
    let files =
        context.roster.with_task(task, |known| known.spec.expects.as_ref().map(|expects| expects.files.clone()));
    let Some(files) = files.flatten().filter(|files| !files.is_empty() && !context.has_file_snapshot(task)) else {
        return;
    };
    if let Some(snapshot) = files::snapshot_files(context, task, files).await {
        context.keep_file_snapshot(task, snapshot);
    }
}

/// Looks whether everything holds that is expected of a run's task; `said` is its final text.
pub(crate) async fn check_result(
    context: &Arc<SessionContext>,
    run: RunId,
    expects: &Expectations,
    said: &str,
) -> ExpectationOutcome {
    let mut missing = Vec::new();
    match files::check_files(context, run.task, &expects.files).await {
        Ok(words) => missing.extend(words),
        Err(words) => return ExpectationOutcome::Uncheckable(words),
    }
    if let Some(schema) = &expects.schema {
        match schema::check_text(schema.clone(), said.to_owned()).await {
            Ok(words) => missing.extend(words),
            Err(words) => return ExpectationOutcome::Uncheckable(words),
        }
    }
    if let Some(command) = &expects.command {
        match command::check_command(context, run, command).await {
            Ok(words) => missing.extend(words),
            Err(words) => return ExpectationOutcome::Uncheckable(words),
        }
    }
    if missing.is_empty() { ExpectationOutcome::Met } else { ExpectationOutcome::Missing(missing.join("\n")) }
}
