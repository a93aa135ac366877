//! External tasks: work that a client does itself, and only tells the session of. The session keeps what it was told, so that a
//! client that comes back finds it again.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Timestamp;

/// The name of an external task, as its client gave it; unique in its session.
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
    /// Its name.
    pub id: ExternalTaskId,
    /// What people call it.
    #[serde(default)]
    pub title: Option<String>,
    /// What it is for.
    pub description: String,
    /// Whether its client can be asked to stop it.
    pub cancellable: bool,
    /// The connection that does it, or did it last.
    pub owner: String,
    /// How it stands.
    pub state: ExternalTaskState,
    /// The number of the client's latest word on it.
    pub sequence: u64,
    /// What part of it is under way, in its client's words.
    #[serde(default)]
    pub phase: Option<String>,
    /// How much of it is done, in percent.
    #[serde(default)]
    pub percent: Option<u8>,
    /// What its client said of it last.
    #[serde(default)]
    pub message: Option<String>,
    /// When the session was first told of it.
    pub started_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// When another connection took it up.
    #[serde(default)]
    pub reclaimed_at: Option<Timestamp>,
    /// How long it was worked on before the state that it is in, in milliseconds.
    #[serde(default)]
    pub worked_ms: u64,
}

/// How an external task stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ExternalTaskState {
    /// Its client works on it.
    Running {
        /// Since when.
        since_at: Timestamp,
    },
    /// Its client is there and does not work on it.
    Idle {
        /// Since when.
        since_at: Timestamp,
    },
    /// Its client is gone; whoever registers it again takes it up.
    Orphaned {
        /// Since when.
        since_at: Timestamp,
    },
    /// It is over.
    Ended {
        /// When.
        at: Timestamp,
        /// How.
        end: ExternalTaskEnd,
    },
}

/// How an external task ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ExternalTaskEnd {
    /// Well.
    Completed {
        /// What it brought.
        #[serde(default)]
        result: Option<Value>,
    },
    /// Badly.
    Failed {
        /// Why, for people.
        error: String,
        /// Why, for programs.
        #[serde(default)]
        code: Option<String>,
    },
    /// Somebody stopped it.
    Cancelled {
        /// Why.
        #[serde(default)]
        reason: Option<String>,
    },
}

/// What a client says of an external task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ExternalTaskProgress {
    /// It works on it.
    Running,
    /// It does not work on it now.
    Idle,
    /// This part of it is under way; none that has a name when absent.
    Phase {
        /// The part.
        #[serde(default)]
        phase: Option<String>,
    },
    /// So much of it is done; nobody knows when absent.
    Percent {
        /// In percent.
        #[serde(default)]
        percent: Option<u8>,
    },
    /// Something for people.
    Message {
        /// The words.
        text: String,
    },
    /// It is over.
    Ended {
        /// How.
        end: ExternalTaskEnd,
    },
}

impl ExternalTask {
    /// Whether it is over.
    pub fn is_ended(&self) -> bool {
        matches!(self.state, ExternalTaskState::Ended { .. })
    }

    /// Whether a connection is at it, busy or not.
    pub fn is_owned(&self) -> bool {
        matches!(self.state, ExternalTaskState::Running { .. } | ExternalTaskState::Idle { .. })
    }

    /// The external task in another state from this moment on; the time that was worked on it is counted.
    #[must_use]
    pub fn with_state(self, state: ExternalTaskState, now: Timestamp) -> ExternalTask {
        let worked = match self.state {
            ExternalTaskState::Running { since_at } => now.0.saturating_sub(since_at.0),
            ExternalTaskState::Idle { .. } | ExternalTaskState::Orphaned { .. } | ExternalTaskState::Ended { .. } => 0,
        };
        ExternalTask { state, updated_at: now, worked_ms: self.worked_ms.saturating_add(worked), ..self }
    }

    /// The external task once its client has said this.
    #[must_use]
    pub fn apply_progress(self, word: ExternalTaskProgress, now: Timestamp) -> ExternalTask {
        match word {
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
