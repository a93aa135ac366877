//! Expectations of an agent's result. The runtime checks them; the agent's own claim does not count.

mod command;
mod files;
mod schema;
mod snapshot;

use std::sync::Arc;

use protocol::{Expectations, Hinted};

pub use files::FilePatternError;
pub use schema::SchemaError;

pub(crate) use command::{admit_command, check_command_at};
pub(crate) use files::changed_paths;
pub(crate) use snapshot::FileSnapshot;

use crate::run_requests::SessionRequests;
use crate::session_context::{TaskMemory, Workplace};
use crate::task_workspaces::TaskWorkspace;

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

/// Why expectations can never be checked.
#[derive(Debug, thiserror::Error)]
pub enum UnusableExpectation {
    /// The patterns of files cannot be used.
    #[error(transparent)]
    Files(#[from] FilePatternError),
    /// The schema cannot be used.
    #[error(transparent)]
    Schema(#[from] SchemaError),
}

impl Hinted for UnusableExpectation {
    fn hint(&self) -> Option<String> {
        match self {
            UnusableExpectation::Files(_) => None,
            UnusableExpectation::Schema(error) => error.hint(),
        }
    }
}

/// Refuses expectations that can never be checked.
pub fn check_usable(expects: &Expectations) -> Result<(), UnusableExpectation> {
    files::compile_patterns(&expects.files)?;
    Ok(expects.schema.as_ref().map_or(Ok(()), check_schema)?)
}

/// Refuses an unusable JSON Schema.
pub fn check_schema(schema: &serde_json::Value) -> Result<(), SchemaError> {
    schema::validator(schema).map(|_validator| ())
}

/// Describes why a text is not JSON that satisfies a schema, for the author of the text. Fails if the schema cannot be
/// checked.
pub async fn schema_mistakes(schema: serde_json::Value, text: String) -> Result<Option<String>, SchemaError> {
    schema::check_text(schema, text).await
}

/// Takes a snapshot of the files that a task is to change, once for all its activations in this process.
pub(crate) async fn snapshot_expected_files(memory: &TaskMemory, workspace: &Arc<TaskWorkspace>, files: &[String]) {
    if files.is_empty() || memory.expected_files.get().is_some() {
        return;
    }
    if let Some(snapshot) = files::snapshot_files(workspace, files.to_vec()).await {
        // A snapshot that was taken meanwhile is as good.
        let _known = memory.expected_files.set(snapshot);
    }
}

/// Checks the expectations of a run's task.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExpectationCheck<'a> {
    pub(crate) session: &'a dyn SessionRequests,
    pub(crate) workplace: &'a Workplace,
    pub(crate) workspace: &'a Arc<TaskWorkspace>,
    pub(crate) memory: &'a TaskMemory,
}

impl ExpectationCheck<'_> {
    /// Checks the expectations; `text` is the task's final text.
    pub(crate) async fn check_result(self, expects: &Expectations, text: &str) -> ExpectationOutcome {
        let mut missing = Vec::new();
        match self.check_files(&expects.files).await {
            Ok(unmet) => missing.extend(unmet),
            Err(error) => return ExpectationOutcome::Uncheckable(error.to_string()),
        }
        if let Some(schema) = &expects.schema {
            match schema::check_text(schema.clone(), text.to_owned()).await {
                Ok(unmet) => missing.extend(unmet),
                Err(error) => return ExpectationOutcome::Uncheckable(error.in_one_line()),
            }
        }
        if let Some(command) = &expects.command {
            match self.check_command(command).await {
                Ok(unmet) => missing.extend(unmet),
                Err(error) => return ExpectationOutcome::Uncheckable(error.in_one_line()),
            }
        }
        if missing.is_empty() { ExpectationOutcome::Met } else { ExpectationOutcome::Unmet(missing.join("\n")) }
    }
}
