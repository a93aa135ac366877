//! API types for fleets.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::TodoView;
use crate::{FleetConfig, FleetEnd, SessionId, SessionOptions};

/// The request for a fleet.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct FleetParams {
    /// The request; when absent, the fleet works through the existing todos, or continues an interrupted fleet.
    pub prompt: Option<String>,
    /// The agent type for todos that name none; `general-purpose` when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Maximum number of todos in progress at once; limited only by the number of agents when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parallel: Option<u32>,
    /// How often a todo is tried again after a failure; once when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
    /// How often the main agent may review the result and plan again; three times when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u32>,
    /// Whether each worker has its own checkout, which is merged at the end.
    pub isolated: bool,
    /// Whether the checkouts start with uncommitted changes.
    pub dirty: bool,
    /// Whether the user's branch is moved to the result when everything is merged and all checks pass.
    pub merge: bool,
    /// A shell command that must exit with code 0 after each merge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    /// Whether every todo is done, even if an earlier result could be reused.
    pub fresh: bool,
}

impl FleetParams {
    /// The request for a fleet with this prompt and the default options. A blank prompt is none.
    pub fn new(prompt: Option<&str>) -> FleetParams {
        let prompt = prompt.map(str::trim).filter(|prompt| !prompt.is_empty()).map(str::to_owned);
        FleetParams { prompt, ..FleetParams::default() }
    }

    /// The configuration of the fleet.
    pub fn config(&self) -> FleetConfig {
        let defaults = FleetConfig::for_goal(self.prompt.as_deref().map(str::trim).unwrap_or_default());
        FleetConfig {
            agent: self.agent.clone(),
            parallel: self.parallel,
            retries: self.retries.unwrap_or(defaults.retries),
            rounds: self.rounds.unwrap_or(defaults.rounds),
            isolated: self.isolated,
            dirty: self.dirty,
            merge: self.merge,
            check: self.check.clone(),
            ..defaults
        }
    }
}

/// A session that begins with a fleet.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct BeginFleetParams {
    /// The options of the session.
    pub session: SessionOptions,
    /// The fleet.
    pub fleet: FleetParams,
}

/// Whether a fleet was started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FleetResult {
    /// Always true: a fleet that cannot start is an error.
    pub started: bool,
}

/// The latest fleet of a session, if it had one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FleetStatusResult {
    /// The fleet.
    pub fleet: Option<FleetStatus>,
}

/// The progress of a fleet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FleetStatus {
    /// Its session.
    pub session: SessionId,
    /// What it was begun with.
    pub terms: FleetConfig,
    /// How it ended; absent while it has not.
    pub end: Option<FleetEnd>,
    /// The process that runs its session now.
    pub owner_pid: Option<u32>,
    /// Its todos, in the order they were written.
    pub todos: Vec<FleetTodoView>,
    /// The tokens that belong to no todo: those of the main agent and of agents that merge.
    pub other_tokens: u64,
}

/// A todo with the totals of all its attempts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FleetTodoView {
    /// The todo.
    pub todo: TodoView,
    /// Whether it is done because an earlier result is reused.
    pub reused: bool,
    /// Whether one of its workers waits for the user's decision.
    pub needs_you: bool,
    /// The result of the task that worked on it last.
    pub result: Option<String>,
    /// How long its workers worked.
    pub duration_ms: u64,
    /// The turns that its workers took.
    pub turns: u64,
    /// The tokens of all requests, also of those without an answer.
    pub tokens: u64,
    /// The cost in millionths of a US dollar, as far as prices are known.
    pub cost_micros: u64,
    /// Whether all prices are known.
    pub priced: bool,
}
