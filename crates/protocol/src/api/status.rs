//! A summary of a session's state, sent to subscribers whenever it changes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::TaskState;

/// A summary of a session's state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatusView {
    /// The last event it takes into account; subscribers get that event first.
    pub seq: u64,
    /// Whether nothing is queued, running or parked.
    pub quiet: bool,
    /// The root's state.
    pub root: Option<TaskState>,
    /// How many tasks below the root are queued, running or parked.
    pub background: u64,
    /// How many calls wait for a person's decision.
    pub asks: u64,
    /// Whether the root, on autopilot, is about to be told to continue.
    pub continuation_due: bool,
    /// Why the session cannot continue, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<String>,
}
