//! Expectations of an agent's result. The runtime checks them; the agent's own claim does not count.

mod command;
mod files;
mod schema;
mod snapshot;

use std::sync::Arc;

use protocol::{Expectations, RunId, TaskId};

pub(crate) use command::check_command_at;
pub(crate) use files::compile_patterns;
pub(crate) use snapshot::FileSnapshot;

use crate::session_context::SessionContext;

/// The outcome of checking a task's expectations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ExpectationOutcome {
    /// All are met.
    Met,
    /// The unmet expectations, described for the agent, which can try again.
    Unmet(String),
    /// They cannot be checked, and the agent cannot change that.
    Uncheckable(String),
}

/// Refuses expectations that can never be checked; the error says why.
pub(crate) fn check_usable(expects: &Expectations) -> Result<(), String> {
    files::compile_patterns(&expects.files)?;
    expects.schema.as_ref().map_or(Ok(()), check_schema)
}

/// Refuses an unusable JSON Schema; the error says why.
pub fn check_schema(schema: &serde_json::Value) -> Result<(), String> {
    schema::validator(schema).map(|_validator| ())
}

/// Describes why a text is not JSON that satisfies a schema, for the author of the text. Fails if the schema cannot be
/// checked.
pub async fn schema_mistakes(schema: serde_json::Value, text: String) -> Result<Option<String>, String> {
    schema::check_text(schema, text).await
}

/// Takes a snapshot of the files that a task is to change, once for all its activations in this process.
pub(crate) async fn snapshot_expected_files(context: &Arc<SessionContext>, task: TaskId) {
    let files =
        context.log.roster.with_task(task, |known| known.spec.expects.as_ref().map(|expects| expects.files.clone()));
    let Some(files) = files.flatten().filter(|files| !files.is_empty() && !context.workplace.has_file_snapshot(task))
    else {
        return;
    };
    if let Some(snapshot) = files::snapshot_files(context, task, files).await {
        context.workplace.keep_file_snapshot(task, snapshot, |task| context.log.roster.is_recent(task));
    }
}

/// Checks the expectations of a run's task; `text` is its final text.
pub(crate) async fn check_result(
    context: &Arc<SessionContext>,
    run: RunId,
    expects: &Expectations,
    text: &str,
) -> ExpectationOutcome {
    let mut missing = Vec::new();
    match files::check_files(context, run.task, &expects.files).await {
        Ok(unmet) => missing.extend(unmet),
        Err(why) => return ExpectationOutcome::Uncheckable(why),
    }
    if let Some(schema) = &expects.schema {
        match schema::check_text(schema.clone(), text.to_owned()).await {
            Ok(unmet) => missing.extend(unmet),
            Err(why) => return ExpectationOutcome::Uncheckable(why),
        }
    }
    if let Some(command) = &expects.command {
        match command::check_command(context, run, command).await {
            Ok(unmet) => missing.extend(unmet),
            Err(why) => return ExpectationOutcome::Uncheckable(why),
        }
    }
    if missing.is_empty() { ExpectationOutcome::Met } else { ExpectationOutcome::Unmet(missing.join("\n")) }
}
