//! External tasks: work that a client does itself and only reports to the session. The session stores the reports, so
//! that a client that reconnects finds its tasks again.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Timestamp;

/// The id of an external task, chosen by its client; unique in its session.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ExternalTaskId(pub String);

impl fmt::Display for ExternalTaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Work that a client does itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExternalTask {
    /// Its id.
    pub id: ExternalTaskId,
    /// Its display name.
    #[serde(default)]
    pub title: Option<String>,
    /// What it is for.
    pub description: String,
    /// Whether its client can be asked to stop it.
    pub cancellable: bool,
    /// The connection that owns it, or owned it last.
    pub owner: String,
    /// Its state.
    pub state: ExternalTaskState,
    /// The number of the client's latest update.
    pub sequence: u64,
    /// The current phase, as its client names it.
    #[serde(default)]
    pub phase: Option<String>,
    /// How much of it is done, in percent.
    #[serde(default)]
    pub percent: Option<u8>,
    /// The latest message from its client.
    #[serde(default)]
    pub message: Option<String>,
    /// When it was registered.
    pub started_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// When another connection reclaimed it.
    #[serde(default)]
    pub reclaimed_at: Option<Timestamp>,
    /// How long it was worked on before its current state, in milliseconds.
    #[serde(default)]
    pub worked_ms: u64,
}

/// The state of an external task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ExternalTaskState {
    /// Its client works on it.
    Running {
        /// Since when.
        since_at: Timestamp,
    },
    /// Its client is connected but does not work on it.
    Idle {
        /// Since when.
        since_at: Timestamp,
    },
    /// Its client is gone; a client can reclaim it by registering it again.
    Orphaned {
        /// Since when.
        since_at: Timestamp,
    },
    /// It has ended.
    Ended {
        /// When it ended.
        at: Timestamp,
        /// How it ended.
        end: ExternalTaskEnd,
    },
}

/// How an external task ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ExternalTaskEnd {
    /// It completed.
    Completed {
        /// Its result.
        #[serde(default)]
        result: Option<Value>,
    },
    /// It failed.
    Failed {
        /// Why, for people.
        error: String,
        /// Why, for programs.
        #[serde(default)]
        code: Option<String>,
    },
    /// It was cancelled.
    Cancelled {
        /// Why.
        #[serde(default)]
        reason: Option<String>,
    },
}

/// One change that a client reports about its external task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ExternalTaskProgress {
    /// The client works on it.
    Running,
    /// The client does not work on it now.
    Idle,
    /// The current phase changed; no named phase when absent.
    Phase {
        /// The phase.
        #[serde(default)]
        phase: Option<String>,
    },
    /// The progress changed; unknown when absent.
    Percent {
        /// In percent.
        #[serde(default)]
        percent: Option<u8>,
    },
    /// A message for people.
    Message {
        /// The text.
        text: String,
    },
    /// It has ended.
    Ended {
        /// How.
        end: ExternalTaskEnd,
    },
}

impl ExternalTask {
    /// Whether it has ended.
    pub fn is_ended(&self) -> bool {
        matches!(self.state, ExternalTaskState::Ended { .. })
    }

    /// Whether a connection owns it, busy or not.
    pub fn is_owned(&self) -> bool {
        matches!(self.state, ExternalTaskState::Running { .. } | ExternalTaskState::Idle { .. })
    }

    /// Returns the external task in another state, with the time worked so far added up.
    #[must_use]
    pub fn with_state(self, state: ExternalTaskState, now: Timestamp) -> ExternalTask {
        let worked = match self.state {
            ExternalTaskState::Running { since_at } => now.0.saturating_sub(since_at.0),
            ExternalTaskState::Idle { .. } | ExternalTaskState::Orphaned { .. } | ExternalTaskState::Ended { .. } => 0,
        };
        ExternalTask { state, updated_at: now, worked_ms: self.worked_ms.saturating_add(worked), ..self }
    }

    /// Returns the external task after a reported change.
    #[must_use]
    pub fn apply_progress(self, progress: ExternalTaskProgress, now: Timestamp) -> ExternalTask {
        match progress {
            ExternalTaskProgress::Running if matches!(self.state, ExternalTaskState::Running { .. }) => self,
            ExternalTaskProgress::Idle if matches!(self.state, ExternalTaskState::Idle { .. }) => self,
            ExternalTaskProgress::Running => self.with_state(ExternalTaskState::Running { since_at: now }, now),
            ExternalTaskProgress::Idle => self.with_state(ExternalTaskState::Idle { since_at: now }, now),
            ExternalTaskProgress::Phase { phase } => ExternalTask { phase, updated_at: now, ..self },
            ExternalTaskProgress::Percent { percent } => ExternalTask { percent, updated_at: now, ..self },
            ExternalTaskProgress::Message { text } => ExternalTask { message: Some(text), updated_at: now, ..self },
            ExternalTaskProgress::Ended { end } => self.with_state(ExternalTaskState::Ended { at: now, end }, now),
        }
    }
}
