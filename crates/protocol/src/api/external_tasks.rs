//! What the API says of external tasks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ExternalTask, ExternalTaskId, ExternalTaskProgress};

/// The external tasks of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExternalTasksResult {
    /// Them, by name.
    pub external_tasks: Vec<ExternalTask>,
}

/// An external task that a client begins, or takes up again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RegisterExternalTaskParams {
    /// Its name.
    pub id: ExternalTaskId,
    /// What people call it.
    #[serde(default)]
    pub title: Option<String>,
    /// What it is for.
    pub description: String,
    /// Whether the client can be asked to stop it.
    pub cancellable: bool,
    /// The connection that does it.
    pub owner: String,
    /// The number that the client thinks it stands at.
    #[serde(default)]
    pub expected: Option<u64>,
}

/// What a client says of its external task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExternalTaskUpdate {
    /// The external task.
    pub id: ExternalTaskId,
    /// The connection that says it; anybody may end an external task whose client is gone.
    #[serde(default)]
    pub owner: Option<String>,
    /// The number of what is said; what is not newer than what was said before changes nothing.
    pub sequence: u64,
    /// What is said.
    pub progress: Vec<ExternalTaskProgress>,
}

/// An external task, and whether this call changed it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExternalTaskResult {
    /// The external task as it stands.
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
    /// It was nobody's, and is its client's again.
    Reclaimed,
    /// What was said of it counts.
    Updated,
    /// Nothing: it was known already.
    Unchanged,
}

/// Whose external tasks, or which.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExternalTaskOwnerParams {
    /// The connection that is gone.
    pub owner: String,
}

/// Which external task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExternalTaskIdParams {
    /// Its name.
    pub id: ExternalTaskId,
}
