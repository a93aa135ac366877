//! The mode of a session: how far its own agent goes by itself.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::CancelBy;

/// How far the session's own agent goes by itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SessionMode {
    /// It answers, and then the person says what comes next.
    #[default]
    Interactive,
    /// It looks and writes a plan; nobody in the session changes anything.
    Plan,
    /// It goes on until it reports that the objective is met.
    Autopilot,
}

impl SessionMode {
    /// Every mode.
    pub const ALL: [SessionMode; 3] = [SessionMode::Interactive, SessionMode::Plan, SessionMode::Autopilot];

    /// The mode in one word.
    pub fn as_str(self) -> &'static str {
        match self {
            SessionMode::Interactive => "interactive",
            SessionMode::Plan => "plan",
            SessionMode::Autopilot => "autopilot",
        }
    }

    /// The mode that a word names.
    pub fn from_name(word: &str) -> Option<SessionMode> {
        SessionMode::ALL.into_iter().find(|mode| mode.as_str() == word)
    }
}

impl fmt::Display for SessionMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How a session goes on when its plan is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlanAction {
    /// The agent carries the plan out, and the person stays with it.
    Interactive,
    /// The agent carries the plan out by itself.
    Autopilot,
    /// The same with many agents at once.
    AutopilotFleet,
    /// Nobody does anything yet.
    ExitOnly,
}

/// What people are shown when a fleet begins.
pub const FLEET_DEPLOYED: &str = "Fleet deployed";

impl PlanAction {
    /// Every action, in the order that a person is offered them.
    pub const ALL: [PlanAction; 4] =
        [PlanAction::Interactive, PlanAction::Autopilot, PlanAction::AutopilotFleet, PlanAction::ExitOnly];

    /// The action in one word.
    pub fn as_str(self) -> &'static str {
        match self {
            PlanAction::Interactive => "interactive",
            PlanAction::Autopilot => "autopilot",
            PlanAction::AutopilotFleet => "autopilot_fleet",
            PlanAction::ExitOnly => "exit_only",
        }
    }

    /// The action that a word names; dashes are fine.
    pub fn from_name(word: &str) -> Option<PlanAction> {
        PlanAction::ALL.into_iter().find(|action| action.as_str() == word.replace('-', "_"))
    }

    /// What it means, in one line for people.
    pub fn description(self) -> &'static str {
        match self {
            PlanAction::Interactive => "carry the plan out, step by step with you",
            PlanAction::Autopilot => "carry the plan out without you, until it is done",
            PlanAction::AutopilotFleet => {
                "the same with many agents at once (autopilot + /fleet), for work that splits well"
            }
            PlanAction::ExitOnly => "leave plan mode and do nothing yet",
        }
    }

    /// What people are shown when it begins, if that is more than the mode.
    pub fn announcement(self) -> Option<&'static str> {
        match self {
            PlanAction::AutopilotFleet => Some(FLEET_DEPLOYED),
            PlanAction::Interactive | PlanAction::Autopilot | PlanAction::ExitOnly => None,
        }
    }

    /// The mode that the session goes on in at once. A plan that nobody carries out yet leaves the session as it is
    /// until its agent has said its last word.
    pub fn mode(self) -> Option<SessionMode> {
        match self {
            PlanAction::Interactive => Some(SessionMode::Interactive),
            PlanAction::Autopilot | PlanAction::AutopilotFleet => Some(SessionMode::Autopilot),
            PlanAction::ExitOnly => None,
        }
    }
}

impl fmt::Display for PlanAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What an agent on autopilot reports about its objective.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ObjectiveReport {
    /// It is met.
    Done {
        /// What was done.
        summary: String,
    },
    /// It cannot be met as things are.
    Blocked {
        /// What was done.
        summary: String,
        /// What is in the way.
        reason: String,
    },
}

/// Why an agent on autopilot does not go on by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum AutopilotStop {
    /// It reported that the objective is met.
    Complete {
        /// What was done.
        summary: String,
    },
    /// It reported that the objective cannot be met as things are.
    Blocked {
        /// What was done.
        summary: String,
        /// What is in the way.
        reason: String,
    },
    /// It was told to go on as often as it may be.
    Limit,
    /// It was told to go on, and nothing changed.
    NoChange,
    /// Somebody stopped it.
    Aborted {
        /// Who.
        by: CancelBy,
    },
    /// Its activation did not end with an answer; the outcome says why.
    Failed,
}

impl AutopilotStop {
    /// The reason in one word.
    pub fn as_str(&self) -> &'static str {
        match self {
            AutopilotStop::Complete { .. } => "complete",
            AutopilotStop::Blocked { .. } => "blocked",
            AutopilotStop::Limit => "limit",
            AutopilotStop::NoChange => "noChange",
            AutopilotStop::Aborted { .. } => "aborted",
            AutopilotStop::Failed => "failed",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_names_what_it_is_the_word_of_on_the_wire_too() {
        for mode in SessionMode::ALL {
            assert_eq!(SessionMode::from_name(mode.as_str()), Some(mode));
            assert_eq!(serde_json::to_value(mode).unwrap(), mode.as_str());
        }
        for action in PlanAction::ALL {
            assert_eq!(PlanAction::from_name(action.as_str()), Some(action));
            assert_eq!(serde_json::to_value(action).unwrap(), action.as_str());
        }
        assert_eq!(PlanAction::from_name("autopilot-fleet"), Some(PlanAction::AutopilotFleet));
        assert_eq!(SessionMode::from_name("fast"), None);
    }
}
