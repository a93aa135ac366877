//! Asks: decisions that only a person can make. An ask belongs to one tool call, and its id is derived from that call.

use std::fmt;

use schemars::JsonSchema;
use serde::de::{Deserializer, Error};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{CallId, PlanAction, Timestamp};

/// The id of an ask: a digest of its session, task and exact call, so that a decision cannot apply to another call.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct AskId(pub String);

impl AskId {
    /// A prefix, long enough to identify the ask on a command line.
    pub fn short(&self) -> &str {
        self.0.get(..12).unwrap_or(&self.0)
    }
}

impl fmt::Display for AskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A decision that a tool call is waiting for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Ask {
    /// Its id.
    pub id: AskId,
    /// The call that waits.
    pub call: CallId,
    /// What is asked.
    pub subject: AskSubject,
    /// When the default decision is taken; never when absent.
    pub until_at: Option<Timestamp>,
}

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum AskSubject {
    /// Whether the call may run.
    Permission {
        /// The tool.
        tool: String,
        /// Its arguments, exactly as the model wrote them.
        input: String,
        /// Why it needs permission, for people.
        reason: String,
        /// The rules that together would allow this call and similar ones; empty if no rule can.
        rules: Vec<String>,
    },
    /// A question from the model.
    Question {
        /// The question.
        question: String,
        /// Answers to choose from; free text when empty.
        choices: Vec<String>,
    },
    /// How the session continues now that its plan is ready.
    Plan {
        /// A summary of the plan.
        summary: String,
        /// The plan.
        plan: String,
        /// The actions to choose from.
        actions: Vec<PlanAction>,
        /// The action that the model recommends.
        recommended: PlanAction,
        /// The action taken when the deadline passes.
        default_action: PlanAction,
    },
}

impl AskSubject {
    /// Whether the call that asks has already started. A call that asks for permission has not.
    pub fn has_call_started(&self) -> bool {
        match self {
            AskSubject::Permission { .. } => false,
            AskSubject::Question { .. } | AskSubject::Plan { .. } => true,
        }
    }

    /// The decision taken when the deadline passes.
    pub fn default_decision(&self) -> AskDecision {
        match self {
            AskSubject::Permission { .. } | AskSubject::Question { .. } => AskDecision::Deny { message: String::new() },
            AskSubject::Plan { default_action, .. } => AskDecision::Proceed { action: *default_action },
        }
    }
}

/// What was decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase", remote = "Self")]
pub enum AskDecision {
    /// The call may run.
    Allow {
        /// Rules to add to the session.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        rules: Vec<String>,
        /// Replacement arguments, checked like any others; the model's own arguments when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<String>,
    },
    /// The call may not run, the question is not answered, or the plan is not good enough.
    Deny {
        /// A message for the model; may be empty.
        #[serde(default)]
        message: String,
    },
    /// The answer to a question.
    Reply {
        /// The answer.
        text: String,
    },
    /// The plan is approved, and this action follows.
    Proceed {
        /// The action.
        action: PlanAction,
    },
}

impl Serialize for AskDecision {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        AskDecision::serialize(self, to)
    }
}

/// Serde takes a number for the name of a variant too; a decision that says `0` must not count as `allow`.
impl<'de> Deserialize<'de> for AskDecision {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<AskDecision, D::Error> {
        let value = Value::deserialize(from)?;
        if !value["type"].is_string() {
            return Err(D::Error::custom("`type` is not allow, deny, reply or proceed"));
        }
        AskDecision::deserialize(value).map_err(D::Error::custom)
    }
}

/// Who decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum DecidedBy {
    /// A person, or a program that acts for one.
    User,
    /// The deadline passed.
    Deadline,
}

impl AskDecision {
    /// Whether it is a valid decision on such a subject.
    pub fn fits(&self, subject: &AskSubject) -> bool {
        match (self, subject) {
            (AskDecision::Deny { .. }, _)
            | (AskDecision::Allow { .. }, AskSubject::Permission { .. })
            | (AskDecision::Reply { .. }, AskSubject::Question { .. }) => true,
            (AskDecision::Proceed { action }, AskSubject::Plan { actions, default_action, .. }) => {
                actions.contains(action) || action == default_action
            }
            (AskDecision::Allow { .. }, AskSubject::Question { .. } | AskSubject::Plan { .. })
            | (AskDecision::Reply { .. }, AskSubject::Permission { .. } | AskSubject::Plan { .. })
            | (AskDecision::Proceed { .. }, AskSubject::Permission { .. } | AskSubject::Question { .. }) => false,
        }
    }

    /// The decision in one word.
    pub fn as_str(&self) -> &'static str {
        match self {
            AskDecision::Allow { .. } => "allowed",
            AskDecision::Deny { .. } => "denied",
            AskDecision::Reply { .. } => "answered",
            AskDecision::Proceed { .. } => "approved",
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_number_of_a_decision_is_not_its_name() {
        let allow = AskDecision::Allow { rules: vec!["shell(ls)".into()], input: None };
        let written = json!({ "type": "allow", "rules": ["shell(ls)"] });
        assert_eq!(serde_json::to_value(&allow).unwrap(), written);
        assert_eq!(serde_json::from_value::<AskDecision>(written).unwrap(), allow);
        for wrong in [json!({ "type": 0 }), json!({}), json!({ "type": "maybe" }), json!("allow")] {
            assert!(serde_json::from_value::<AskDecision>(wrong.clone()).is_err(), "{wrong}");
        }
    }
}
