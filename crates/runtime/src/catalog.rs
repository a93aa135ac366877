//! The agents, skills and hooks that a session has.

use protocol::{AgentSpec, DefinitionSource, HookSpec, SkillSpec, SlashSpec, SpawnPolicy};

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
    pub slash_commands: Vec<SlashSpec>,
    /// Those of a project that nobody has trusted; they are known by name alone.
    pub untrusted_commands: Vec<SlashSpec>,
}

impl Catalog {
    /// The agent of this name. People write names in many ways; case, spaces and underscores do not matter.
    pub fn agent(&self, name: &str) -> Option<&AgentSpec> {
        let wanted = AgentSpec::normalize_name(name);
        self.agents.iter().find(|agent| AgentSpec::normalize_name(&agent.name) == wanted)
    }

    /// Adds the agents that were defined for a session when it began, the newest first. What is said again now, and
    /// what has the same name as one of them, comes before it.
    pub(crate) fn restore_defined(&mut self, defined: Vec<AgentSpec>) {
        for spec in defined {
            match self.agents.iter_mut().find(|agent| agent.name == spec.name) {
                Some(agent) if agent.source == DefinitionSource::Flag => {}
                Some(agent) => *agent = spec,
                None => self.agents.insert(0, spec),
            }
        }
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
    pub(crate) fn startable<'a>(&'a self, spawns: &'a SpawnPolicy) -> impl Iterator<Item = &'a AgentSpec> {
        self.agents.iter().filter(|agent| agent.model_invocable && spawns.permits(&agent.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(name: &str, prompt: &str, source: DefinitionSource) -> AgentSpec {
        AgentSpec { name: name.into(), prompt: prompt.into(), source, ..AgentSpec::default() }
    }

    /// A5: a session goes on with the agents that it was begun with.
    #[test]
    fn what_was_defined_for_a_session_counts_until_it_is_said_anew() {
        let file = DefinitionSource::User { path: "a.md".into() };
        let mut catalog = Catalog {
            agents: vec![agent("said", "now", DefinitionSource::Flag), agent("file", "now", file.clone())],
            ..Catalog::default()
        };
        let newest_first = ["said", "file", "mine", "mine"].iter().enumerate();
        catalog.restore_defined(
            newest_first.map(|(at, name)| agent(name, &at.to_string(), DefinitionSource::Flag)).collect(),
        );
        let prompt = |name: &str| catalog.agent(name).map(|agent| agent.prompt.clone()).unwrap();
        assert_eq!([prompt("said"), prompt("file"), prompt("mine")], ["now", "1", "2"]);
    }
}
