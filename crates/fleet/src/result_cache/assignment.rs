//! The agent and model of a todo.

use std::collections::BTreeMap;

use protocol::{ReasoningEffort, Todo};
use runtime::{Catalog, ModelResolver, definition_of};

/// The agent and model of a todo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// The digest of the agent's definition, or its name if there is none.
    pub agent: String,
    /// The model of the agent.
    pub model: String,
    /// The reasoning effort.
    pub effort: Option<ReasoningEffort>,
}

/// The agents and models that are available for todos.
#[derive(Debug, Clone, Copy)]
pub struct AssignmentContext<'a> {
    /// The agents.
    pub catalog: &'a Catalog,
    /// The models for agents.
    pub models: &'a dyn ModelResolver,
    /// The session's own model.
    pub model: &'a str,
    /// The session's reasoning effort.
    pub effort: Option<ReasoningEffort>,
    /// The agent of todos that name no agent.
    pub default_agent: &'a str,
}

impl Assignment {
    /// The assignment of a todo.
    pub fn for_todo(todo: &Todo, context: AssignmentContext<'_>) -> Assignment {
        let AssignmentContext { catalog, models, model: session_model, effort, default_agent } = context;
        let name = todo.agent_type.as_deref().unwrap_or(default_agent);
        let agent = catalog.agent(name);
        let digest = agent.and_then(|agent| definition_of(agent).ok()).map(|definition| definition.id.0);
        let is_available = |spec: &&String| *spec == "inherit" || models.open(spec).is_ok();
        let agent_model = || agent.and_then(|agent| agent.models.iter().find(is_available).cloned());
        let preferred = || agent.and_then(|agent| models.preferred(agent.model_preference));
        let model = todo.model.clone().or_else(agent_model).or_else(preferred).filter(|spec| spec != "inherit");
        Assignment {
            agent: digest.unwrap_or_else(|| name.to_owned()),
            model: model.unwrap_or_else(|| session_model.to_owned()),
            effort: agent.and_then(|agent| agent.effort).or(effort),
        }
    }
}

/// Caches assignments: thousands of todos share a few.
#[derive(Debug, Default)]
pub(super) struct AssignmentCache(BTreeMap<(Option<String>, Option<String>), Assignment>);

impl AssignmentCache {
    pub(super) fn get(&mut self, todo: &Todo, context: AssignmentContext<'_>) -> &Assignment {
        let key = (todo.agent_type.clone(), todo.model.clone());
        self.0.entry(key).or_insert_with(|| Assignment::for_todo(todo, context))
    }
}
