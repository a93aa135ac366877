//! API types for external tasks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ExternalTask, ExternalTaskId, ExternalTaskProgress};

/// The external tasks of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExternalTasksResult {
    /// The external tasks, sorted by id.
    pub external_tasks: Vec<ExternalTask>,
}

/// An external task that a client starts or reclaims.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RegisterExternalTaskParams {
    /// Its name.
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

/// A client's update of its external task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExternalTaskUpdate {
    /// The external task.
    pub id: ExternalTaskId,
    /// The connection that sends the update; any connection may end an orphaned external task.
    #[serde(default)]
    pub owner: Option<String>,
    /// The number of the update; an update that is not newer than the last one is ignored.
    pub sequence: u64,
    /// The changes.
    pub progress: Vec<ExternalTaskProgress>,
}

/// An external task, and whether this call changed it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExternalTaskResult {
    /// The external task after the call.
    pub external_task: ExternalTask,
    /// What the call did.
    pub change: ExternalTaskChange,
}

/// What a call did to an external task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ExternalTaskChange {
    /// It is new.
    Created,
    /// It was orphaned, and has an owner again.
    Reclaimed,
    /// The update was applied.
    Updated,
    /// Nothing changed.
    Unchanged,
}

/// The owner of external tasks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExternalTaskOwnerParams {
    /// The connection that was closed.
    pub owner: String,
}

/// Which external task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExternalTaskIdParams {
    /// Its name.
    pub id: ExternalTaskId,
}
