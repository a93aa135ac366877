//! Who does a todo, and with which model.

use std::collections::BTreeMap;

use protocol::{ReasoningEffort, Todo};

use crate::catalog::Catalog;
use crate::definition;
use crate::models::ModelResolver;

/// Who does a todo, and with which model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// The digest of the agent's definition, or its name where there is none.
    pub agent: String,
    /// The model that it is run with.
    pub model: String,
    /// How hard that thinks.
    pub effort: Option<ReasoningEffort>,
}

/// Who there is to do todos.
#[derive(Debug, Clone, Copy)]
pub struct AssignmentContext<'a> {
    /// The agents.
    pub catalog: &'a Catalog,
    /// The models that they may be run with.
    pub models: &'a dyn ModelResolver,
    /// The session's own model.
    pub model: &'a str,
    /// How hard that thinks.
    pub effort: Option<ReasoningEffort>,
    /// The agent of todos that name none.
    pub default_agent: &'a str,
}

impl Assignment {
    /// What a todo is done with.
    pub fn of(todo: &Todo, staff: AssignmentContext<'_>) -> Assignment {
        let AssignmentContext { catalog, models, model: own, effort, default_agent: usual } = staff;
        let name = todo.agent_type.as_deref().unwrap_or(usual);
        let agent = catalog.agent(name);
        let digest = agent.and_then(|agent| definition::definition_of(agent).ok()).map(|definition| definition.id.0);
        let can_be_had = |spec: &&String| *spec == "inherit" || models.open(spec).is_ok();
        let of_agent = || agent.and_then(|agent| agent.models.iter().find(can_be_had).cloned());
        let liked = || agent.and_then(|agent| models.preferred(agent.model_preference));
        let model = todo.model.clone().or_else(of_agent).or_else(liked).filter(|spec| spec != "inherit");
        Assignment {
            agent: digest.unwrap_or_else(|| name.to_owned()),
            model: model.unwrap_or_else(|| own.to_owned()),
            effort: agent.and_then(|agent| agent.effort).or(effort),
        }
    }
}

/// The means of many todos: thousands of them have the same few.
#[derive(Debug, Default)]
pub(super) struct AssignmentCache(BTreeMap<(Option<String>, Option<String>), Assignment>);

impl AssignmentCache {
    pub(super) fn of(&mut self, todo: &Todo, staff: AssignmentContext<'_>) -> &Assignment {
        let key = (todo.agent_type.clone(), todo.model.clone());
        self.0.entry(key).or_insert_with(|| Assignment::of(todo, staff))
    }
}
