//! The agents that a session may start, and the model of its root.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{AgentSpec, ReasoningEffort, TaskId};

/// An agent that may be started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentView {
    /// The name it is started by.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Its instructions.
    pub prompt: String,
    /// The file that defines it, or `built in`.
    pub source: String,
    /// The tools it has; all when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Its preferred models, best first.
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
    /// The agents.
    pub agents: Vec<AgentView>,
}

/// An agent to start in the background for the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StartAgentParams {
    /// Its type.
    pub agent: String,
    /// Its first prompt.
    pub prompt: String,
    /// Its name; the same as its type when absent.
    #[serde(default)]
    pub name: Option<String>,
    /// What it is for, in a few words.
    #[serde(default)]
    pub description: Option<String>,
    /// The model to run it with; the definition's when absent.
    #[serde(default)]
    pub model: Option<String>,
}

impl StartAgentParams {
    /// Parameters with only the type and the prompt; the agent's definition decides the rest.
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

/// The model of the root, and of every agent that does not name another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModelParams {
    /// The model, as for `--model`.
    pub model: String,
    /// Its reasoning effort; when absent, as before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<ReasoningEffort>,
}

impl ModelParams {
    /// A model, whose reasoning effort stays as it was.
    pub fn new(model: impl Into<String>) -> ModelParams {
        ModelParams { model: model.into(), effort: None }
    }
}

/// The agent definition that the root currently uses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentResult {
    /// The definition; none for the default root agent.
    pub agent: Option<AgentView>,
}

/// The agent definition that the root should use.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct SelectAgentParams {
    /// Its name; the default root agent when absent.
    pub agent: Option<String>,
}
