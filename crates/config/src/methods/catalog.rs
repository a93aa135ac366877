//! The agents, skills, slash commands and plugins of a folder, and their problems.

use std::path::Path;

use host::{Clock, SystemClock};
use protocol::api::{
    CatalogFoldersResult, CatalogProblems, CatalogView, DefinitionProblemView, DefinitionView, FindSkillsParams,
    FullDefinition, PluginView, ProblemSeverity, SkillView, SkillsResult,
};
use protocol::{Refusal, SessionOptions};

use super::answer::absolute_folder;
use super::error::SettingsMethodError;
use crate::agents::AgentConfig;
use crate::assemble::SettingsSources;
use crate::catalog::{
    DefinitionProblem, ListedAgent, ListedSkill, ListedSlashCommand, LoadedCatalog, Plugin, Severity,
};
use crate::config::Config;

impl SettingsSources<'_> {
    /// The definitions that apply in a folder.
    pub fn catalog(&self, cwd: &Path) -> Result<CatalogView, SettingsMethodError> {
        Ok(catalog_view(&self.catalog_of(&SessionOptions::default(), cwd)?.0))
    }

    /// The skills of a folder.
    pub fn skills(&self, params: FindSkillsParams) -> Result<SkillsResult, SettingsMethodError> {
        let FindSkillsParams { cwd, skill_dirs } = params;
        let options = SessionOptions { skill_dirs, ..SessionOptions::default() };
        let (catalog, _config) = self.catalog_of(&options, &absolute_folder(cwd)?)?;
        let skills = catalog.listing.effective_skills().map(|skill| SkillView::new(skill.spec.clone(), true));
        Ok(SkillsResult { skills: skills.collect() })
    }

    /// The folders in which the agents and skills of a folder are looked for.
    pub fn catalog_folders(&self, cwd: &Path) -> Result<CatalogFoldersResult, SettingsMethodError> {
        let options = SessionOptions::default();
        let layers = self.layers(&options, None, cwd)?;
        Ok(CatalogFoldersResult { folders: self.definition_folders(&layers, &options) })
    }

    /// One definition that applies in a folder.
    pub fn definition(&self, name: &str, cwd: &Path) -> Result<FullDefinition, SettingsMethodError> {
        Ok(find_definition(&self.catalog_of(&SessionOptions::default(), cwd)?.0, name)?)
    }

    /// The problems of the definitions of a folder.
    pub fn catalog_problems(&self, cwd: &Path) -> Result<CatalogProblems, SettingsMethodError> {
        let (catalog, config) = self.checked_catalog_of(&SessionOptions::default(), cwd)?;
        Ok(catalog_problems(&catalog, &config.agents))
    }

    /// The definitions of a folder as a run with these options would find them, and the folder's settings. Those of the
    /// remote catalogue are the ones that were fetched before.
    pub fn catalog_of(
        &self,
        options: &SessionOptions,
        cwd: &Path,
    ) -> Result<(LoadedCatalog, Config), SettingsMethodError> {
        let layers = self.layers(&SessionOptions::default(), None, cwd)?;
        Ok((self.load_catalog(&layers, options)?, layers.config()))
    }

    /// The definitions of a folder with the problems of agents that no run could start.
    pub fn checked_catalog_of(
        &self,
        options: &SessionOptions,
        cwd: &Path,
    ) -> Result<(LoadedCatalog, Config), SettingsMethodError> {
        let (mut catalog, config) = self.catalog_of(options, cwd)?;
        catalog.add_unusable_agents(&config.agents, &config.access(self.env)?);
        Ok((catalog, config))
    }
}

/// A catalogue as the API shows it.
pub fn catalog_view(catalog: &LoadedCatalog) -> CatalogView {
    let listing = &catalog.listing;
    let is_untrusted = |problem: &&DefinitionProblem| problem.severity == Severity::Untrusted;
    let ignored = listing.problems.iter().filter(is_untrusted).map(|problem| problem.file.display().to_string());
    CatalogView {
        agents: listing.agents.iter().map(agent_view).collect(),
        skills: listing.skills.iter().map(skill_view).collect(),
        commands: listing.slash_commands.iter().map(slash_view).collect(),
        plugins: listing.plugins.iter().map(plugin_view).collect(),
        ignored: ignored.collect(),
        problems: listing.problems.len() as u64,
    }
}

fn agent_view(ListedAgent { spec, shadowed_by, .. }: &ListedAgent) -> DefinitionView {
    DefinitionView {
        name: spec.name.clone(),
        description: spec.description.clone(),
        source: spec.source.clone(),
        shadowed_by: shadowed_by.clone(),
        user_invocable: spec.user_invocable,
        model_invocable: spec.model_invocable,
        unserved: spec.unsupported.clone(),
    }
}

fn skill_view(ListedSkill { spec, shadowed_by }: &ListedSkill) -> DefinitionView {
    DefinitionView {
        name: spec.name.clone(),
        description: spec.description.clone(),
        source: spec.source.clone(),
        shadowed_by: shadowed_by.clone(),
        user_invocable: spec.user_invocable,
        model_invocable: spec.model_invocable,
        unserved: Vec::new(),
    }
}

fn slash_view(ListedSlashCommand { spec, shadowed_by }: &ListedSlashCommand) -> DefinitionView {
    DefinitionView {
        name: spec.name.clone(),
        description: spec.description.clone(),
        source: spec.source.clone(),
        shadowed_by: shadowed_by.clone(),
        user_invocable: true,
        model_invocable: false,
        unserved: Vec::new(),
    }
}

fn plugin_view(Plugin { name, version, folder, .. }: &Plugin) -> PluginView {
    PluginView { name: name.clone(), version: version.clone(), folder: folder.display().to_string() }
}

/// The agent, skill or slash command with a name.
pub fn find_definition(catalog: &LoadedCatalog, name: &str) -> Result<FullDefinition, Refusal> {
    let listing = &catalog.listing;
    if let Some(agent) = listing.agent(name) {
        return Ok(FullDefinition::Agent { agent: Box::new(agent.spec.clone()) });
    }
    if let Some(skill) = listing.effective_skills().find(|skill| skill.spec.name == name) {
        return Ok(FullDefinition::Skill { skill: skill.spec.clone() });
    }
    let command_name = name.trim_start_matches('/');
    match listing.effective_slash_commands().find(|slash| slash.spec.name == command_name) {
        Some(slash) => Ok(FullDefinition::Command { command: slash.spec.clone() }),
        None => Err(Refusal::new(format!("there is no agent, skill or command `{name}`"))
            .with_hint("`bosun catalog list` shows all of them")),
    }
}

/// The problems of a catalogue.
pub fn catalog_problems(catalog: &LoadedCatalog, agents: &AgentConfig) -> CatalogProblems {
    let listing = &catalog.listing;
    let remote = listing.remote.problem(SystemClock.now()).map(|(_, message)| message);
    let overflow = catalog.description_overflow(agents).map(|overflow| overflow.to_string());
    CatalogProblems {
        agents: listing.effective().count() as u64,
        skills: listing.effective_skills().count() as u64,
        commands: listing.effective_slash_commands().count() as u64,
        problems: listing.problems.iter().map(problem_view).collect(),
        notices: remote.into_iter().chain(overflow).collect(),
    }
}

fn problem_view(problem: &DefinitionProblem) -> DefinitionProblemView {
    DefinitionProblemView {
        file: problem.file.display().to_string(),
        line: problem.at.map(|at| at.line),
        column: problem.at.map(|at| at.column),
        severity: match problem.severity {
            Severity::Error => ProblemSeverity::Error,
            Severity::Warning => ProblemSeverity::Warning,
            Severity::Untrusted => ProblemSeverity::Untrusted,
        },
        message: problem.message.clone(),
        remedy: problem.remedy.clone(),
    }
}
