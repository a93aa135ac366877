//! API types for external tasks, which clients do themselves. Reading, stopping and removing them is as for any task.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ExternalTaskId, ExternalTaskProgress, TaskId};

/// An external task that a client starts or claims.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RegisterTaskParams {
    /// The client's name for it.
    pub id: ExternalTaskId,
    /// Its display name.
    #[serde(default)]
    pub title: Option<String>,
    /// What it is for.
    pub description: String,
    /// Whether the client can be asked to stop it.
    pub cancellable: bool,
    /// The connection that owns it.
    pub owner: String,
    /// The sequence number that the client expects it to have.
    #[serde(default)]
    pub expected: Option<u64>,
}

/// A client's report on its external task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReportTaskParams {
    /// The task.
    pub task: TaskId,
    /// The connection that sends the report.
    pub owner: String,
    /// The number of the report; one that is not newer than the last one is ignored.
    pub sequence: u64,
    /// The changes.
    pub progress: Vec<ExternalTaskProgress>,
}

/// An external task, and what this call did to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExternalTaskResult {
    /// The task.
    pub task: TaskId,
    /// What the call did.
    pub change: ExternalTaskChange,
}

/// What a call did to an external task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ExternalTaskChange {
    /// It is new.
    Created,
    /// Its client was gone, and it has an owner again.
    Claimed,
    /// The report was applied.
    Reported,
    /// Nothing changed.
    Unchanged,
}

/// A connection that was closed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClosedConnectionParams {
    /// The connection.
    pub owner: String,
}
