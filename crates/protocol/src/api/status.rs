//! A session's state in brief, told to subscribers whenever it changes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::TaskState;

/// A session's state in brief.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatusView {
    /// The last event that it follows from: subscribers have it before they are told this.
    pub seq: u64,
    /// Whether nothing is queued, running or parked.
    pub quiet: bool,
    /// The root's state.
    pub root: Option<TaskState>,
    /// How many tasks below the root are queued, running or parked.
    pub background: u64,
    /// How many calls wait for a person's decision.
    pub asks: u64,
    /// Whether the root, on autopilot, is about to be told to go on.
    pub continuation_due: bool,
    /// Why the session cannot go on, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<String>,
}
