//! The agents, skills and hooks that a session has.

use protocol::{AgentSpec, HookSpec, SkillSpec, Spawns};

/// What was found in files, plugins, flags and catalogues, with what is built in. Names are unique: whoever made the
/// catalogue has decided which of two counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Catalog {
    /// Agents, the custom ones first.
    pub agents: Vec<AgentSpec>,
    /// Skills.
    pub skills: Vec<SkillSpec>,
    /// Hooks, in the order they run.
    pub hooks: Vec<HookSpec>,
}

impl Catalog {
    /// The agent of this name. People write names in many ways; case, spaces and underscores do not matter.
    pub fn agent(&self, name: &str) -> Option<&AgentSpec> {
        let wanted = normal(name);
        self.agents.iter().find(|agent| normal(&agent.name) == wanted)
    }

    /// The skill of this name.
    pub fn skill(&self, name: &str) -> Option<&SkillSpec> {
        self.skills.iter().find(|skill| skill.name == name)
    }

    /// The agents that a plan may name.
    pub(crate) fn invocable(&self) -> impl Iterator<Item = &AgentSpec> {
        self.agents.iter().filter(|agent| agent.model_invocable)
    }

    /// The agents that one with this role may start.
    pub(crate) fn startable<'a>(&'a self, spawns: &'a Spawns) -> impl Iterator<Item = &'a AgentSpec> {
        self.agents.iter().filter(|agent| agent.model_invocable && spawns.permit(&agent.name))
    }
}

/// A name in the one way that names are compared.
fn normal(name: &str) -> String {
    name.trim().chars().map(|c| if c == ' ' || c == '_' { '-' } else { c.to_ascii_lowercase() }).collect()
}
