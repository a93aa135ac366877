//! Who does a todo, and with which model.

use std::collections::BTreeMap;

use protocol::{Effort, Todo};

use crate::definition;
use crate::settings::Settings;

/// Who does a todo, and with which model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Means {
    /// The digest of the agent's definition, or its name where there is none.
    pub agent: String,
    /// The model that it is run with.
    pub model: String,
    /// How hard that thinks.
    pub effort: Option<Effort>,
}

impl Means {
    /// What a todo is done with in a session; `usual` is the agent of those that name none.
    pub fn of(todo: &Todo, settings: &Settings, usual: &str) -> Means {
        let name = todo.agent_type.as_deref().unwrap_or(usual);
        let agent = settings.catalog.agent(name);
        let digest = agent.and_then(|agent| definition::of(agent).ok()).map(|definition| definition.id.0);
        let wanted = |spec: &&String| *spec == "inherit" || settings.models.open(spec).is_ok();
        let of_agent = || agent.and_then(|agent| agent.models.iter().find(wanted).cloned());
        let liked = || agent.and_then(|agent| settings.models.liked(agent.taste));
        let model = todo.model.clone().or_else(of_agent).or_else(liked).filter(|spec| spec != "inherit");
        Means {
            agent: digest.unwrap_or_else(|| name.to_owned()),
            model: model.unwrap_or_else(|| settings.model_spec.clone()),
            effort: agent.and_then(|agent| agent.effort).or(settings.effort),
        }
    }
}

/// The means of many todos: thousands of them have the same few.
#[derive(Debug, Default)]
pub(super) struct AllMeans(BTreeMap<(Option<String>, Option<String>), Means>);

impl AllMeans {
    pub(super) fn of(&mut self, todo: &Todo, settings: &Settings, usual: &str) -> Means {
        let key = (todo.agent_type.clone(), todo.model.clone());
        self.0.entry(key).or_insert_with(|| Means::of(todo, settings, usual)).clone()
    }
}
