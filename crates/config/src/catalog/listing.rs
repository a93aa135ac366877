//! Everything that was found, and which of a name counts.

use std::path::Path;

use protocol::{AgentSpec, DefinitionSource, SkillSpec, SlashSpec};

use super::agent::AgentDraft;
use super::plugin::Plugin;
use super::{DefinitionProblem, HookHolder, HookText, RemoteState};

/// Everything that was found, strongest first.
#[derive(Debug, Default)]
pub struct CatalogListing {
    /// Agents.
    pub agents: Vec<ListedAgent>,
    /// Skills.
    pub skills: Vec<ListedSkill>,
    /// Slash commands.
    pub slashes: Vec<ListedSlashCommand>,
    /// Slash commands of a project that nobody has trusted, by name and file alone.
    pub untrusted: Vec<SlashSpec>,
    /// Texts that hold hooks for every agent.
    pub hooks: Vec<HookText>,
    /// Plugins.
    pub plugins: Vec<Plugin>,
    /// What is wrong.
    pub problems: Vec<DefinitionProblem>,
    /// How the remote catalogue is.
    pub remote: RemoteState,
}

/// An agent that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedAgent {
    /// Its definition.
    pub spec: AgentSpec,
    /// The hooks that hold for it alone, as they were written.
    pub hooks: Option<HookText>,
    /// The definition of the same name that counts instead.
    pub shadowed_by: Option<DefinitionSource>,
}

/// A skill that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedSkill {
    /// Its head.
    pub spec: SkillSpec,
    /// The skill of the same name that counts instead.
    pub shadowed_by: Option<DefinitionSource>,
}

/// A slash command that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedSlashCommand {
    /// Its head.
    pub spec: SlashSpec,
    /// The command of the same name that counts instead.
    pub shadowed_by: Option<DefinitionSource>,
}

impl CatalogListing {
    /// The agents that count.
    pub fn effective(&self) -> impl Iterator<Item = &ListedAgent> {
        self.agents.iter().filter(|agent| agent.shadowed_by.is_none())
    }

    /// The skills that count.
    pub fn effective_skills(&self) -> impl Iterator<Item = &ListedSkill> {
        self.skills.iter().filter(|skill| skill.shadowed_by.is_none())
    }

    /// The slash commands that count.
    pub fn effective_slashes(&self) -> impl Iterator<Item = &ListedSlashCommand> {
        self.slashes.iter().filter(|slash| slash.shadowed_by.is_none())
    }

    /// The agent of a name that counts; people write names in many ways.
    pub fn agent(&self, name: &str) -> Option<&ListedAgent> {
        let wanted = super::name::loose(name);
        self.effective().find(|agent| agent.spec.name == wanted)
    }

    pub(super) fn add_agent(&mut self, drafted: AgentDraft, file: &Path, plugin: Option<&Path>) {
        let AgentDraft { spec, hooks } = drafted;
        let shadowed_by = self.agent(&spec.name).map(|stronger| stronger.spec.source.clone());
        let hooks = hooks.map(|(_, json)| HookText {
            file: file.to_owned(),
            holder: HookHolder::Agent(spec.name.clone()),
            plugin: plugin.map(Path::to_owned),
            top: None,
            text: json.to_string(),
        });
        self.agents.push(ListedAgent { spec, hooks, shadowed_by });
    }

    pub(super) fn add_skill(&mut self, spec: SkillSpec) {
        let stronger = self.effective_skills().find(|skill| skill.spec.name == spec.name);
        let shadowed_by = stronger.map(|stronger| stronger.spec.source.clone());
        self.skills.push(ListedSkill { spec, shadowed_by });
    }

    pub(super) fn add_slash_command(&mut self, spec: SlashSpec) {
        let stronger = self.effective_slashes().find(|slash| slash.spec.name == spec.name);
        let shadowed_by = stronger.map(|stronger| stronger.spec.source.clone());
        self.slashes.push(ListedSlashCommand { spec, shadowed_by });
    }
}
