//! Errands: work that a client does itself, and only tells the session of. The session keeps what it was told, so that a
//! client that comes back finds it again.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::At;

/// The name of an errand, as its client gave it; unique in its session.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ErrandId(pub String);

impl fmt::Display for ErrandId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Work that a client does itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Errand {
    /// Its name.
    pub id: ErrandId,
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
    pub state: ErrandState,
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
    pub started_at: At,
    /// When it last changed.
    pub updated_at: At,
    /// When another connection took it up.
    #[serde(default)]
    pub reclaimed_at: Option<At>,
    /// How long it was worked on before the state that it is in, in milliseconds.
    #[serde(default)]
    pub worked_ms: u64,
}

/// How an errand stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ErrandState {
    /// Its client works on it.
    Running {
        /// Since when.
        since_at: At,
    },
    /// Its client is there and does not work on it.
    Idle {
        /// Since when.
        since_at: At,
    },
    /// Its client is gone; whoever registers it again takes it up.
    Orphaned {
        /// Since when.
        since_at: At,
    },
    /// It is over.
    Ended {
        /// When.
        at: At,
        /// How.
        end: ErrandEnd,
    },
}

/// How an errand ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ErrandEnd {
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

/// What a client says of an errand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ErrandWord {
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
        end: ErrandEnd,
    },
}

impl Errand {
    /// Whether it is over.
    pub fn is_ended(&self) -> bool {
        matches!(self.state, ErrandState::Ended { .. })
    }

    /// Whether a connection is at it, busy or not.
    pub fn is_held(&self) -> bool {
        matches!(self.state, ErrandState::Running { .. } | ErrandState::Idle { .. })
    }

    /// The errand in another state from this moment on; the time that was worked on it is counted.
    #[must_use]
    pub fn turned(self, state: ErrandState, now: At) -> Errand {
        let worked = match self.state {
            ErrandState::Running { since_at } => now.0.saturating_sub(since_at.0),
            ErrandState::Idle { .. } | ErrandState::Orphaned { .. } | ErrandState::Ended { .. } => 0,
        };
        Errand { state, updated_at: now, worked_ms: self.worked_ms.saturating_add(worked), ..self }
    }

    /// The errand once its client has said this.
    #[must_use]
    pub fn told(self, word: ErrandWord, now: At) -> Errand {
        match word {
            ErrandWord::Running if matches!(self.state, ErrandState::Running { .. }) => self,
            ErrandWord::Idle if matches!(self.state, ErrandState::Idle { .. }) => self,
            ErrandWord::Running => self.turned(ErrandState::Running { since_at: now }, now),
            ErrandWord::Idle => self.turned(ErrandState::Idle { since_at: now }, now),
            ErrandWord::Phase { phase } => Errand { phase, updated_at: now, ..self },
            ErrandWord::Percent { percent } => Errand { percent, updated_at: now, ..self },
            ErrandWord::Message { text } => Errand { message: Some(text), updated_at: now, ..self },
            ErrandWord::Ended { end } => self.turned(ErrandState::Ended { at: now, end }, now),
        }
    }
}
