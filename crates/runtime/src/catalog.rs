//! The agents, skills, hooks and slash commands of a session.

use std::collections::BTreeSet;

use protocol::{AgentSpec, DefinitionSource, HookSpec, SkillSpec, SlashSpec, SpawnPolicy};

/// Definitions from files, plugins, flags and remote catalogues, and the built-in ones. Names are unique: duplicates
/// were resolved when the catalogue was built.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Catalog {
    /// Agents, the custom ones first.
    pub agents: Vec<AgentSpec>,
    /// Skills.
    pub skills: Vec<SkillSpec>,
    /// Hooks, in the order they run.
    pub hooks: Vec<HookSpec>,
    /// Slash commands from files, highest precedence first.
    pub slash_commands: Vec<SlashSpec>,
    /// Slash commands of an untrusted project, known only by name.
    pub untrusted_commands: Vec<SlashSpec>,
}

impl Catalog {
    /// The agent of this name. Case, spaces and underscores do not matter.
    pub fn agent(&self, name: &str) -> Option<&AgentSpec> {
        let wanted = AgentSpec::normalize_name(name);
        self.agents.iter().find(|agent| AgentSpec::normalize_name(&agent.name) == wanted)
    }

    /// Adds the agents that earlier processes of the session defined by flag, newest first. They replace agents from
    /// other sources, but not those defined by flag now.
    pub(crate) fn restore_defined(&mut self, defined: Vec<AgentSpec>) {
        for spec in defined {
            match self.agents.iter_mut().find(|agent| agent.name == spec.name) {
                Some(agent) if agent.source == DefinitionSource::Flag => {}
                Some(agent) => *agent = spec,
                None => self.agents.insert(0, spec),
            }
        }
    }

    /// Removes built-in agents.
    pub(crate) fn remove_built_in(&mut self, names: &BTreeSet<String>) {
        let names: BTreeSet<String> = names.iter().map(|name| AgentSpec::normalize_name(name)).collect();
        let is_removed = |agent: &AgentSpec| {
            agent.source == DefinitionSource::BuiltIn && names.contains(&AgentSpec::normalize_name(&agent.name))
        };
        self.agents.retain(|agent| !is_removed(agent));
    }

    /// The skill of this name.
    pub fn skill(&self, name: &str) -> Option<&SkillSpec> {
        self.skills.iter().find(|skill| skill.name == name)
    }

    /// The agents that a plan may name.
    pub fn invocable(&self) -> impl Iterator<Item = &AgentSpec> {
        self.agents.iter().filter(|agent| agent.model_invocable)
    }

    /// The agents that an agent with this spawn policy may start.
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

    /// A5: a session continues with the agents that it was started with.
    #[test]
    fn agents_defined_by_flag_stay_until_they_are_defined_again() {
        let file = DefinitionSource::User { path: "a.md".into() };
        let mut catalog = Catalog {
            agents: vec![agent("redefined", "now", DefinitionSource::Flag), agent("file", "now", file.clone())],
            ..Catalog::default()
        };
        let newest_first = ["redefined", "file", "mine", "mine"].iter().enumerate();
        catalog.restore_defined(
            newest_first.map(|(age, name)| agent(name, &age.to_string(), DefinitionSource::Flag)).collect(),
        );
        let prompt = |name: &str| catalog.agent(name).map(|agent| agent.prompt.clone()).unwrap();
        assert_eq!([prompt("redefined"), prompt("file"), prompt("mine")], ["now", "1", "2"]);
    }

    #[test]
    fn only_built_in_agents_are_removed() {
        let file = DefinitionSource::User { path: "a.md".into() };
        let agents = vec![agent("explore", "", DefinitionSource::BuiltIn), agent("scout", "", file)];
        let mut catalog = Catalog { agents, ..Catalog::default() };
        catalog.remove_built_in(&["Explore", "scout"].map(str::to_owned).into());
        assert!(catalog.agent("explore").is_none() && catalog.agent("scout").is_some());
    }
}
