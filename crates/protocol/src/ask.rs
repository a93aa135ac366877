//! Asks: what only a person can decide. An ask belongs to one tool call, and its id is made from that call.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{At, CallId};

/// The name of an ask: a digest of its session, task and exact call, so that a decision can cover no other.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AskId(pub String);

impl AskId {
    /// Its beginning, enough to tell it from others at a command line.
    pub fn short(&self) -> &str {
        self.0.get(..12).unwrap_or(&self.0)
    }
}

impl fmt::Display for AskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Something that a tool call waits to have decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ask {
    /// Its name.
    pub id: AskId,
    /// The call that waits.
    pub call: CallId,
    /// What is asked.
    pub subject: Subject,
    /// When it is decided by default; never when absent.
    pub until_at: Option<At>,
}

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Subject {
    /// Whether the call may run.
    Permission {
        /// The tool.
        tool: String,
        /// Its arguments, exactly as the model wrote them.
        input: String,
        /// Why it is not simply allowed, for people.
        reason: String,
        /// A rule that would allow this call and its like; none where no rule may.
        rule: Option<String>,
    },
    /// A question of the model's own.
    Question {
        /// The question.
        question: String,
        /// Answers to choose from; any words when empty.
        choices: Vec<String>,
    },
}

/// What was decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Decision {
    /// The call may run.
    Allow {
        /// A rule that the session follows from now on.
        #[serde(default)]
        rule: Option<String>,
    },
    /// The call may not run, or the question is not answered.
    Deny {
        /// What the model should know; may be empty.
        #[serde(default)]
        words: String,
    },
    /// The answer to a question.
    Reply {
        /// The answer.
        text: String,
    },
}

/// Who decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DecidedBy {
    /// A person, or a program that acts for one.
    User,
    /// Nobody did in time.
    Deadline,
}

impl Decision {
    /// Whether it can be the decision on such a subject.
    pub fn fits(&self, subject: &Subject) -> bool {
        match (self, subject) {
            (Decision::Deny { .. }, _)
            | (Decision::Allow { .. }, Subject::Permission { .. })
            | (Decision::Reply { .. }, Subject::Question { .. }) => true,
            (Decision::Allow { .. }, Subject::Question { .. })
            | (Decision::Reply { .. }, Subject::Permission { .. }) => false,
        }
    }

    /// The decision in one word.
    pub fn word(&self) -> &'static str {
        match self {
            Decision::Allow { .. } => "allowed",
            Decision::Deny { .. } => "denied",
            Decision::Reply { .. } => "answered",
        }
    }
}
