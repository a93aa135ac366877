//! The agents that a session may start, and the model that it asks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{AgentSpec, TaskId};

/// An agent that may be started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentView {
    /// What it is started by.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// What it is told first.
    pub prompt: String,
    /// The file that defines it, or `built in`.
    pub source: String,
    /// The tools it has; all when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// The models it would like, best first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<String>,
}

impl From<&AgentSpec> for AgentView {
    fn from(agent: &AgentSpec) -> AgentView {
        AgentView {
            name: agent.name.clone(),
            description: agent.description.clone(),
            prompt: agent.prompt.clone(),
            source: agent.source.to_string(),
            tools: agent.tools.clone(),
            models: agent.models.clone(),
        }
    }
}

/// The agents that may be started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentsResult {
    /// Them.
    pub agents: Vec<AgentView>,
}

/// Which agent to start for a person, in the background.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StartAgentParams {
    /// Its type.
    pub agent: String,
    /// What it is to do.
    pub prompt: String,
    /// What it is called; as its type when absent.
    #[serde(default)]
    pub name: Option<String>,
    /// What it is for, in a few words.
    #[serde(default)]
    pub description: Option<String>,
    /// The model it is run with; as its definition says when absent.
    #[serde(default)]
    pub model: Option<String>,
}

impl StartAgentParams {
    /// An agent of this type as its definition has it.
    pub fn new(agent: impl Into<String>, prompt: impl Into<String>) -> StartAgentParams {
        StartAgentParams { agent: agent.into(), prompt: prompt.into(), name: None, description: None, model: None }
    }
}

/// The agent that was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StartAgentResult {
    /// Its task.
    pub task: TaskId,
}

/// The model of the session's own agent, and of every agent that wants no other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModelParams {
    /// It, as `--model` takes it.
    pub model: String,
}

/// The agent that the session's own goes on as.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentResult {
    /// It; nothing while it is the usual one.
    pub agent: Option<AgentView>,
}

/// The agent that the session's own is to go on as.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct SelectAgentParams {
    /// Its name; the usual one when absent.
    pub agent: Option<String>,
}
