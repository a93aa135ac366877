//! API types for waiting until a session or a task has nothing left to do.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ParkingView, RunPhase, TaskView};
use crate::TaskId;

/// How long to wait for the end of a run. Every limit is optional; without one, only the end itself ends the wait.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct SessionWaitParams {
    /// How long to wait in total, in milliseconds.
    pub timeout_ms: Option<u64>,
    /// How long commands may run after the root's answer, in milliseconds.
    pub commands_ms: Option<u64>,
    /// How long agents may be silent after the root's answer, in milliseconds.
    pub agents_ms: Option<u64>,
    /// How long to wait for a quota to reset, in milliseconds.
    pub park_ms: Option<u64>,
}

/// How a wait ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionWaitResult {
    /// Why it ended.
    pub end: SessionWaitEnd,
    /// What the session does now.
    pub phase: RunPhase,
    /// The last event that the session had committed by then.
    pub seq: u64,
}

/// Why a wait for a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum SessionWaitEnd {
    /// Nothing is left to do.
    Quiet,
    /// The root has answered, and work in the background took longer than allowed. The session still runs.
    Background,
    /// Nothing works until a quota resets or a person acts, and that takes longer than allowed.
    Parked {
        /// What the session waits for.
        parking: ParkingView,
    },
    /// The session cannot continue.
    Paused,
    /// The wait took longer than allowed.
    TimedOut,
}

/// A task to wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaskWaitParams {
    /// The task.
    pub task: TaskId,
    /// How long to wait in total, in milliseconds; without limit when absent.
    #[serde(default)]
    pub timeout_ms: Option<u64>,
}

/// How a wait for a task ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskWaitResult {
    /// Whether the task is at rest: it ended, or has delivered its result and waits for messages.
    pub at_rest: bool,
    /// The task.
    pub task: TaskView,
}
