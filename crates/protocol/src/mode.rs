//! Session modes: how independently the root works.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::CancelBy;

/// How independently the session's root works.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SessionMode {
    /// It answers and then waits for the user's next prompt.
    #[default]
    Interactive,
    /// It explores and writes a plan; no agent in the session changes anything.
    Plan,
    /// It continues until it reports that the objective is met.
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

    /// The mode with this name.
    pub fn from_name(name: &str) -> Option<SessionMode> {
        SessionMode::ALL.into_iter().find(|mode| mode.as_str() == name)
    }
}

impl fmt::Display for SessionMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How a session continues when its plan is ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlanAction {
    /// The agent carries out the plan together with the user.
    Interactive,
    /// The agent carries out the plan on its own.
    Autopilot,
    /// Many agents at once carry out the plan on their own.
    AutopilotFleet,
    /// Nothing is carried out yet.
    ExitOnly,
}

/// Shown to the user when a fleet starts.
pub const FLEET_DEPLOYED: &str = "Fleet deployed";

impl PlanAction {
    /// Every action, in the order in which the user is offered them.
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

    /// The action with this name; dashes are accepted for underscores.
    pub fn from_name(name: &str) -> Option<PlanAction> {
        PlanAction::ALL.into_iter().find(|action| action.as_str() == name.replace('-', "_"))
    }

    /// What it means, in one line for people.
    pub fn description(self) -> &'static str {
        match self {
            PlanAction::Interactive => "carry out the plan, step by step with you",
            PlanAction::Autopilot => "carry out the plan without you, until it is done",
            PlanAction::AutopilotFleet => {
                "the same with many agents at once (autopilot + /fleet), for work that splits well"
            }
            PlanAction::ExitOnly => "leave plan mode and do nothing yet",
        }
    }

    /// The mode that the session switches to at once. `ExitOnly` keeps plan mode until the activation has ended.
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

/// An agent's report on its autopilot objective.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ObjectiveReport {
    /// It is met.
    Done {
        /// What was done.
        summary: String,
    },
    /// It cannot be met.
    Blocked {
        /// What was done.
        summary: String,
        /// What is in the way.
        reason: String,
    },
}

/// Why autopilot stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum AutopilotStop {
    /// The agent reported that the objective is met.
    Complete {
        /// What was done.
        summary: String,
    },
    /// The agent reported that the objective cannot be met.
    Blocked {
        /// What was done.
        summary: String,
        /// What is in the way.
        reason: String,
    },
    /// The root was told to continue as often as the limit allows.
    Limit,
    /// The root was told to continue, and nothing changed.
    NoChange,
    /// It was stopped.
    Aborted {
        /// Who stopped it.
        by: CancelBy,
    },
    /// The activation ended without an answer; its outcome says why.
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
    fn modes_and_actions_have_the_same_name_in_json() {
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
