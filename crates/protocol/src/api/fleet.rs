//! API types for fleets.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{NewTodo, TodoView};
use crate::{FleetConfig, FleetEnd, FleetStopReason, MergeSummary, SessionId, SessionOptions};

/// The request for a fleet.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct FleetParams {
    /// The request; when absent, the fleet works through the existing todos, or continues an interrupted fleet.
    pub prompt: Option<String>,
    /// The plan, each todo with its id; the root makes one when absent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub todos: Vec<NewTodo>,
    /// The file that the plan was read from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan_file: Option<String>,
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
    /// Whether each worker has its own checkout, which is merged at the end; no when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isolated: Option<bool>,
    /// Whether the checkouts start with uncommitted changes, which workers do not see otherwise.
    pub dirty: bool,
    /// Whether the user's branch is moved to the result when everything is merged and all checks pass.
    pub merge: bool,
    /// A shell command that must exit with code 0 after each merge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    /// Whether every todo is done, even if an earlier result could be reused.
    pub fresh: bool,
    /// Files in the workspace whose changes do not make earlier results stale.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub excluded: Vec<PathBuf>,
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
            isolated: self.isolated.unwrap_or(defaults.isolated),
            dirty: self.dirty,
            merge: self.merge,
            check: self.check.clone(),
            plan: self.plan_file.clone(),
            ..defaults
        }
    }
}

/// How the latest fleet is resumed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ResumeFleetParams {
    /// Files in the workspace whose changes do not make earlier results stale.
    pub excluded: Vec<PathBuf>,
}

/// A session that begins with a fleet. What the request says overrides the plan.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct BeginFleetParams {
    /// The options of the session; its budget and its time limit override those of the plan.
    pub session: SessionOptions,
    /// The fleet.
    pub fleet: FleetParams,
    /// The plan; the root makes one when absent.
    pub plan: Option<PlanDocument>,
}

/// A plan in the format of plan files: as text, or as the object that the text describes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct PlanDocument {
    /// The text, in YAML or JSON.
    pub text: Option<String>,
    /// The object, instead of a text.
    pub object: Option<Map<String, Value>>,
    /// The file that it was read from, which problems name.
    pub file: Option<String>,
}

/// The uncommitted files that the workers of a fleet do not see, since they have their own checkouts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UncommittedFiles {
    /// The first of them, relative to the top of the repository.
    pub files: Vec<String>,
    /// How many there are.
    pub total: u64,
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
    /// Why it was stopped, unless the user stopped it.
    pub stop_reason: Option<FleetStopReason>,
    /// How the work of its isolated workers was merged; absent while it is not.
    pub merged: Option<MergeSummary>,
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
    /// Why it is done again although an earlier fleet did it; absent if none did.
    pub redo_reason: Option<String>,
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
