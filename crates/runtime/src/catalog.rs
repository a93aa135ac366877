//! The agents, skills and hooks that a session has.

use protocol::{AgentSpec, HookSpec, SkillSpec, SlashSpec, Spawns};

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
    /// Slash commands of files, the strongest first.
    pub slashes: Vec<SlashSpec>,
    /// Those of a project that nobody has trusted; they are known by name alone.
    pub untrusted: Vec<SlashSpec>,
}

impl Catalog {
    /// The agent of this name. People write names in many ways; case, spaces and underscores do not matter.
    pub fn agent(&self, name: &str) -> Option<&AgentSpec> {
        let wanted = AgentSpec::plain_name(name);
        self.agents.iter().find(|agent| AgentSpec::plain_name(&agent.name) == wanted)
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
