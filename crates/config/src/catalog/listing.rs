//! All definitions found, and which of those with the same name is used.

use std::path::Path;

use protocol::{AgentSpec, DefinitionSource, SkillSpec, SlashSpec};

use super::agent::AgentDraft;
use super::plugin::Plugin;
use super::{DefinitionProblem, HookHolder, HookText, RemoteState};
use crate::mcp_servers::{McpServerDefinition, McpServerOrigin};

/// All definitions found, strongest first.
#[derive(Debug, Default)]
pub struct CatalogListing {
    /// Agents.
    pub agents: Vec<ListedAgent>,
    /// Skills.
    pub skills: Vec<ListedSkill>,
    /// Slash commands.
    pub slash_commands: Vec<ListedSlashCommand>,
    /// Slash commands of an untrusted project, with name and file only.
    pub untrusted: Vec<SlashSpec>,
    /// Texts that define hooks for every agent.
    pub hooks: Vec<HookText>,
    /// Plugins.
    pub plugins: Vec<Plugin>,
    /// The MCP servers of plugins.
    pub(crate) plugin_servers: Vec<McpServerDefinition>,
    /// Problems found.
    pub problems: Vec<DefinitionProblem>,
    /// State of the remote catalogue.
    pub remote: RemoteState,
}

/// An agent that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedAgent {
    /// Its definition.
    pub spec: AgentSpec,
    /// The hooks of this agent alone, as written.
    pub hooks: Option<HookText>,
    /// The MCP servers that its agents alone use.
    pub(crate) mcp_servers: Vec<McpServerDefinition>,
    /// The source of the definition used instead.
    pub shadowed_by: Option<DefinitionSource>,
}

/// A skill that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedSkill {
    /// Its frontmatter.
    pub spec: SkillSpec,
    /// The source of the skill used instead.
    pub shadowed_by: Option<DefinitionSource>,
}

/// A slash command that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedSlashCommand {
    /// Its frontmatter.
    pub spec: SlashSpec,
    /// The source of the command used instead.
    pub shadowed_by: Option<DefinitionSource>,
}

impl CatalogListing {
    /// The agents in effect.
    pub fn effective(&self) -> impl Iterator<Item = &ListedAgent> {
        self.agents.iter().filter(|agent| agent.shadowed_by.is_none())
    }

    /// The MCP servers of the agents in effect.
    pub(crate) fn agent_servers(&self) -> impl Iterator<Item = McpServerDefinition> {
        self.effective().flat_map(|agent| agent.mcp_servers.iter().cloned())
    }

    /// The skills in effect.
    pub fn effective_skills(&self) -> impl Iterator<Item = &ListedSkill> {
        self.skills.iter().filter(|skill| skill.shadowed_by.is_none())
    }

    /// The slash commands in effect.
    pub fn effective_slash_commands(&self) -> impl Iterator<Item = &ListedSlashCommand> {
        self.slash_commands.iter().filter(|slash| slash.shadowed_by.is_none())
    }

    /// The agent in effect with this name, in any spelling.
    pub fn agent(&self, name: &str) -> Option<&ListedAgent> {
        let wanted = super::name::normalize_or_trim(name);
        self.effective().find(|agent| agent.spec.name == wanted)
    }

    /// Removes the hooks and MCP servers of the project's definitions, which are programs that it would start.
    pub(super) fn remove_project_programs(&mut self) {
        let (project, own): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.hooks).into_iter().partition(|text| text.project_dir.is_some());
        self.hooks = own;
        for text in project {
            let message = "its hooks are ignored, since you have not trusted the project";
            self.problems.push(DefinitionProblem::untrusted(&text.file, message));
        }
        let is_project = |agent: &&mut ListedAgent| matches!(agent.spec.source, DefinitionSource::Project { .. });
        for agent in self.agents.iter_mut().filter(is_project) {
            let hooks = agent.hooks.take().map(|_| "hooks");
            let servers = (!std::mem::take(&mut agent.mcp_servers).is_empty()).then_some("MCP servers");
            for what in hooks.into_iter().chain(servers) {
                let file = agent.spec.source.to_string();
                let message = format!("its {what} are ignored, since you have not trusted the project");
                self.problems.push(DefinitionProblem::untrusted(Path::new(&file), message));
            }
        }
    }

    pub(super) fn add_agent(&mut self, drafted: AgentDraft, file: &Path, plugin: Option<&Path>) {
        let AgentDraft { spec, hooks, mcp_servers } = drafted;
        let shadowed_by = self.agent(&spec.name).map(|stronger| stronger.spec.source.clone());
        let hooks = hooks.map(|(_, json)| HookText {
            file: file.to_owned(),
            holder: HookHolder::Agent(spec.name.clone()),
            plugin: plugin.map(Path::to_owned),
            project_dir: None,
            text: json.to_string(),
        });
        let origin = McpServerOrigin::Agent {
            agent: spec.name.clone(),
            source: spec.source.clone(),
            plugin: plugin.map(Path::to_owned),
        };
        let servers = mcp_servers.into_iter();
        let mcp_servers =
            servers.map(|(name, spec)| McpServerDefinition { name, spec, origin: origin.clone() }).collect();
        self.agents.push(ListedAgent { spec, hooks, mcp_servers, shadowed_by });
    }

    pub(super) fn add_skill(&mut self, spec: SkillSpec) {
        let stronger = self.effective_skills().find(|skill| skill.spec.name == spec.name);
        let shadowed_by = stronger.map(|stronger| stronger.spec.source.clone());
        self.skills.push(ListedSkill { spec, shadowed_by });
    }

    pub(super) fn add_slash_command(&mut self, spec: SlashSpec) {
        let stronger = self.effective_slash_commands().find(|slash| slash.spec.name == spec.name);
        let shadowed_by = stronger.map(|stronger| stronger.spec.source.clone());
        self.slash_commands.push(ListedSlashCommand { spec, shadowed_by });
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use protocol::SettingsFileScope;

    use super::*;
    use crate::catalog::{CatalogLocations, RemoteDefinitions, gather_catalog};
    use crate::trust::TrustStatus;

    #[test]
    fn definitions_of_a_project_remain_without_the_programs_that_they_would_start() {
        let (project, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let write = |top: &Path, below: &str, text: &str| {
            let path = top.join(below);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let agent = "---\nname: NAME\ndescription: d\nhooks:\n  PreToolUse:\n    - hooks: [{ type: command, command: ./x }]\n\
                     mcpServers:\n  - db: { command: ./db }\n---\nWork.";
        let hooks = r#"{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"./guard"}]}]}}"#;
        write(project.path(), ".claude/agents/theirs.md", &agent.replace("NAME", "theirs"));
        write(project.path(), ".claude/commands/cmd.md", "Do it.");
        write(project.path(), ".claude/settings.json", hooks);
        write(home.path(), "agents/own.md", &agent.replace("NAME", "own"));
        write(home.path(), "hooks/own.json", hooks);
        let mut listing = gather_catalog(&CatalogLocations {
            home: home.path(),
            user_home: None,
            project_dir: project.path(),
            trust: TrustStatus::Trusted,
            scopes: &SettingsFileScope::ALL,
            plugins: &[],
            skill_dirs: &[],
            inline: &[],
            remote: RemoteDefinitions::default(),
            hooks_forbidden_by: None,
        })
        .unwrap();
        let programs = |listing: &CatalogListing, name: &str| {
            let agent = listing.agent(name).unwrap();
            (agent.hooks.is_some(), agent.mcp_servers.len())
        };
        assert_eq!((programs(&listing, "theirs"), listing.hooks.len()), ((true, 1), 2));
        listing.remove_project_programs();
        assert_eq!((programs(&listing, "theirs"), programs(&listing, "own")), ((false, 0), (true, 1)));
        assert_eq!(listing.hooks.iter().map(|text| text.project_dir.is_some()).collect::<Vec<_>>(), [false]);
        assert!(listing.effective_slash_commands().any(|command| command.spec.name == "cmd"));
        let untrusted =
            listing.problems.iter().filter(|problem| problem.severity == crate::catalog::Severity::Untrusted);
        assert_eq!(untrusted.count(), 3);
    }
}
