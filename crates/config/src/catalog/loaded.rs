//! All definitions of a session with their hooks read, and what is wrong with them.

use std::path::{Path, PathBuf};

use host::{Clock, SystemClock};
use protocol::api::{CatalogFolderKind, CatalogFolderView};
use protocol::{AgentSpec, DefinitionSource, HookSpec, Refusal, SessionOptions};
use runtime::slash::SlashRegistry;
use runtime::{Catalog, ModelResolver};
use serde_json::Value;

use super::agent::AgentDraft;
use super::locations::{CatalogFolder, FolderOwner};
use super::{
    CatalogListing, CatalogLocations, DefinitionProblem, DescriptionOverflow, InlineDefinitions, Severity,
    built_in_agents, gather_catalog, hook_programs,
};
use crate::agents::AgentConfig;
use crate::assemble::{ConfiguredModelSet, SettingsSources, StartNotice};
use crate::file::ForbiddableFeature;
use crate::layers::SettingsLayers;
use crate::provider::ModelAccess;
use crate::session_options;
use crate::trust::TrustStatus;

/// The maximum number of problems shown when a session starts.
const MAX_SHOWN_PROBLEMS: usize = 10;

/// The maximum size of a file with agents that the options name.
const MAX_AGENTS_FILE_BYTES: u64 = 1 << 20;

/// The name of definitions among the options, in error messages.
const OPTION_NAME: &str = "--agents";

/// The gathered definitions with their hooks.
#[derive(Debug)]
pub struct LoadedCatalog {
    /// The definitions and their problems.
    pub listing: CatalogListing,
    hooks: Vec<HookSpec>,
}

impl SettingsSources<'_> {
    /// Loads all definitions that apply in a folder.
    pub fn load_catalog(&self, layers: &SettingsLayers, options: &SessionOptions) -> Result<LoadedCatalog, Refusal> {
        require_folders(&options.plugin_dirs)?;
        let named = options.agents_source.as_deref().map(read_agents).transpose()?;
        let listed = options.agents.clone().map(|agents| (None, Value::Object(agents).to_string()));
        let agents: Vec<(Option<&str>, String)> = named.into_iter().chain(listed).collect();
        let inline: Vec<InlineDefinitions<'_>> = agents
            .iter()
            .map(|(file, text)| InlineDefinitions { name: Path::new(file.unwrap_or(OPTION_NAME)), text })
            .collect();
        let locations = CatalogLocations {
            home: self.home.root(),
            user_home: self.env.user_home.as_deref(),
            project_dir: &layers.project.dir,
            trust: if options.untrusted_definitions { TrustStatus::Trusted } else { layers.trust },
            scopes: session_options::scopes(options),
            plugins: &options.plugin_dirs,
            skill_dirs: &options.skill_dirs,
            inline: &inline,
            remote: self.remote.clone(),
            hooks_forbidden_by: layers.forbidden_by(ForbiddableFeature::Hooks).map(Path::to_owned),
        };
        let mut listing = gather_catalog(&locations).map_err(|problems| {
            let messages: Vec<String> = problems.iter().map(ToString::to_string).collect();
            Refusal::new(messages.join("\n"))
        })?;
        if layers.trust != TrustStatus::Trusted {
            listing.remove_project_programs();
        }
        Ok(LoadedCatalog::new(listing))
    }
}

impl SettingsSources<'_> {
    /// The folders in which agents and skills are looked for, strongest first.
    pub(crate) fn definition_folders(
        &self,
        layers: &SettingsLayers,
        options: &SessionOptions,
    ) -> Vec<CatalogFolderView> {
        let locations = CatalogLocations {
            home: self.home.root(),
            user_home: self.env.user_home.as_deref(),
            project_dir: &layers.project.dir,
            trust: layers.trust,
            scopes: session_options::scopes(options),
            plugins: &options.plugin_dirs,
            skill_dirs: &options.skill_dirs,
            inline: &[],
            remote: self.remote.clone(),
            hooks_forbidden_by: None,
        };
        let view = |holds: CatalogFolderKind| {
            move |folder: CatalogFolder| CatalogFolderView {
                holds,
                path: folder.path.display().to_string(),
                of_project: folder.owner == FolderOwner::Project,
            }
        };
        let agents = locations.agents().into_iter().map(view(CatalogFolderKind::Agents));
        agents.chain(locations.skills().into_iter().map(view(CatalogFolderKind::Skills))).collect()
    }
}

/// Fails if a plugin among the options has no folder: the user counts on what it brings.
fn require_folders(plugin_dirs: &[PathBuf]) -> Result<(), Refusal> {
    match plugin_dirs.iter().find(|folder| !folder.is_dir()) {
        Some(missing) => Err(Refusal::new(format!("--plugin-dir: there is no folder {}", missing.display()))
            .with_hint("name the folder that has the plugin's plugin.json")),
        None => Ok(()),
    }
}

/// The value of `agents_source`: JSON, or a file that contains it.
fn read_agents(value: &str) -> Result<(Option<&str>, String), Refusal> {
    if value.trim_start().starts_with(['{', '[']) {
        return Ok((None, value.to_owned()));
    }
    let unreadable = |reason: String| {
        Refusal::new(format!("{OPTION_NAME}: cannot read {value}: {reason}"))
            .with_hint("give a file, or JSON such as {\"NAME\": {\"description\": \"…\", \"prompt\": \"…\"}}")
    };
    match host::read_plain(Path::new(value), MAX_AGENTS_FILE_BYTES) {
        Ok(Some(bytes)) => match String::from_utf8(bytes) {
            Ok(text) => Ok((Some(value), text)),
            Err(_binary) => Err(unreadable("it is not UTF-8 text".into())),
        },
        Ok(None) => Err(unreadable("it does not exist".into())),
        Err(error) => Err(unreadable(error.to_string())),
    }
}

impl LoadedCatalog {
    /// Reads the hooks of the gathered definitions.
    pub fn new(mut listing: CatalogListing) -> LoadedCatalog {
        shadow_built_in_commands(&mut listing);
        let disabling_file = listing.hooks.iter().find(|text| text.disables_all()).map(|text| text.file.clone());
        if let Some(file) = disabling_file {
            return LoadedCatalog::without_hooks(listing, file);
        }
        let mut hooks = Vec::new();
        for text in &listing.hooks {
            let (specs, problems) = text.read();
            hooks.extend(specs);
            listing.problems.extend(problems);
        }
        for agent in listing.agents.iter_mut().filter(|agent| agent.shadowed_by.is_none()) {
            let Some(text) = &agent.hooks else { continue };
            let (specs, problems) = text.read();
            agent.spec.hooks = specs;
            listing.problems.extend(problems);
        }
        LoadedCatalog { listing, hooks }
    }

    /// These agents and the built-in ones.
    pub(crate) fn of_agents(agents: Vec<AgentSpec>) -> LoadedCatalog {
        let mut listing = CatalogListing::default();
        for spec in agents.into_iter().chain(built_in_agents()) {
            listing.add_agent(AgentDraft::plain(spec), Path::new(""), None);
        }
        LoadedCatalog { listing, hooks: Vec::new() }
    }

    /// All definitions without hooks, since a file disables them.
    fn without_hooks(mut listing: CatalogListing, file: PathBuf) -> LoadedCatalog {
        let message = "no hooks run because `disableAllHooks` is set".into();
        let remedy = "remove it to run them".into();
        listing.problems.push(DefinitionProblem { file, at: None, severity: Severity::Warning, message, remedy });
        LoadedCatalog { listing, hooks: Vec::new() }
    }

    /// Adds a problem for each agent that cannot be started: unsupported fields, or no available model.
    pub fn add_unusable_agents(&mut self, agents: &AgentConfig, access: &ModelAccess) {
        let models = ConfiguredModelSet::new(&access.providers, Path::new("/"), agents);
        let mut problems = Vec::new();
        for agent in self.listing.effective() {
            let file = PathBuf::from(agent.spec.source.to_string());
            let mut add = |severity, message, remedy: &str| {
                problems.push(DefinitionProblem {
                    file: file.clone(),
                    at: None,
                    severity,
                    message,
                    remedy: remedy.to_owned(),
                });
            };
            let name = &agent.spec.name;
            if !agent.spec.unsupported.is_empty() {
                let message = format!("`{name}` cannot be started: {}", agent.spec.unsupported.join("; "));
                add(Severity::Error, message, "remove that from its file");
            }
            let checks: Vec<Result<(), String>> =
                agent.spec.models.iter().map(|model| models.check_available(model)).collect();
            if let Some(Err(reason)) = checks.first()
                && checks.iter().all(Result::is_err)
            {
                let message = format!("`{name}` names no available model: {reason}");
                add(Severity::Warning, message, "`bosun models` lists the models");
            }
        }
        self.listing.problems.extend(problems);
    }

    /// The files in these folders and in the user's home that hooks run.
    pub(crate) fn hook_programs(&self, folders: &[&Path], user: Option<&Path>) -> Vec<PathBuf> {
        let agent_hooks = self.listing.effective().flat_map(|agent| &agent.spec.hooks);
        self.hooks.iter().chain(agent_hooks).flat_map(|spec| hook_programs(spec, folders, user)).collect()
    }

    /// Fails if there are problems and the option `strict` is set.
    pub(crate) fn require_no_problems(&self, strict: bool) -> Result<(), Refusal> {
        let problems = &self.listing.problems;
        let remote_error =
            self.listing.remote.problem(SystemClock.now()).filter(|(severity, _)| *severity == Severity::Error);
        if !strict || (problems.is_empty() && remote_error.is_none()) {
            return Ok(());
        }
        let mut lines: Vec<String> = problems.iter().take(MAX_SHOWN_PROBLEMS).map(ToString::to_string).collect();
        lines.extend(remote_error.map(|(_, message)| message));
        if let Some(more) = problems.len().checked_sub(MAX_SHOWN_PROBLEMS).filter(|more| *more > 0) {
            lines.push(format!("and {more} more"));
        }
        let message = format!("the catalogue has problems, and --strict is set:\n{}", lines.join("\n"));
        Err(Refusal::new(message).with_hint("`bosun catalog check` lists everything"))
    }

    /// The definition of the session's own agent.
    pub(crate) fn main_agent(&self, name: &str, models: &ConfiguredModelSet) -> Result<AgentSpec, Refusal> {
        let invocable = || self.listing.effective().filter(|agent| agent.spec.user_invocable);
        let agent = self.listing.agent(name).filter(|agent| agent.spec.user_invocable);
        let Some(agent) = agent else {
            let names: Vec<&str> = invocable().map(|agent| agent.spec.name.as_str()).collect();
            return Err(Refusal::new(format!("there is no agent `{name}` that you can start"))
                .with_hint(format!("available: {}", names.join(", "))));
        };
        if !agent.spec.unsupported.is_empty() {
            let reasons = agent.spec.unsupported.join("; ");
            return Err(Refusal::new(format!("`{name}` cannot be started: {reasons} (see {})", agent.spec.source)));
        }
        Ok(with_full_model_names(&agent.spec, models))
    }

    /// The effective definitions for the runtime.
    pub(crate) fn catalog(&self, models: &ConfiguredModelSet) -> Catalog {
        Catalog {
            agents: self.listing.effective().map(|agent| with_full_model_names(&agent.spec, models)).collect(),
            skills: self.listing.effective_skills().map(|skill| skill.spec.clone()).collect(),
            hooks: self.hooks.clone(),
            slash_commands: self.listing.effective_slash_commands().map(|slash| slash.spec.clone()).collect(),
            untrusted_commands: self.listing.untrusted.clone(),
        }
    }

    /// The problems to show when a session starts.
    pub(crate) fn start_notices(&self, agents: &AgentConfig) -> Vec<StartNotice> {
        let has = |severity| move |problem: &&DefinitionProblem| problem.severity == severity;
        let errors: Vec<_> = self.listing.problems.iter().filter(has(Severity::Error)).collect();
        let mut lines: Vec<String> = errors.iter().take(MAX_SHOWN_PROBLEMS).map(ToString::to_string).collect();
        let count = |severity| self.listing.problems.iter().filter(has(severity)).count();
        let more = if lines.is_empty() { "" } else { "more " };
        match errors.len().saturating_sub(MAX_SHOWN_PROBLEMS) + count(Severity::Warning) {
            0 => {}
            1 => lines.push(format!("1 {more}problem in the catalogue: see `bosun catalog check`")),
            hidden => lines.push(format!("{hidden} {more}problems in the catalogue: see `bosun catalog check`")),
        }
        match count(Severity::Untrusted) {
            0 => {}
            files => lines.push(format!(
                "{files} of the project's agents, skills, commands and hooks are ignored because it is not trusted; \
                 review them, then run `bosun trust`"
            )),
        }
        lines.extend(self.listing.remote.problem(SystemClock.now()).map(|(_, message)| message));
        if let Some(overflow) = self.description_overflow(agents) {
            lines.push(format!("{overflow}; shorten them, or raise agents.description-limit"));
        }
        lines.into_iter().map(StartNotice::problem).collect()
    }

    /// Whether the descriptions take too much of every request.
    pub fn description_overflow(&self, agents: &AgentConfig) -> Option<DescriptionOverflow> {
        DescriptionOverflow::measure(self.listing.effective().map(|agent| &agent.spec), agents.description_limit)
    }
}

/// Shadows definitions with the name of a built-in slash command.
fn shadow_built_in_commands(listing: &mut CatalogListing) {
    for slash in listing.slash_commands.iter_mut().filter(|slash| SlashRegistry::is_built_in(&slash.spec.name)) {
        let message = format!("/{} is built in, so this one is not used", slash.spec.name);
        let (file, remedy) = (PathBuf::from(&slash.spec.file), "rename it".to_owned());
        listing.problems.push(DefinitionProblem { file, at: None, severity: Severity::Warning, message, remedy });
        slash.shadowed_by = Some(DefinitionSource::BuiltIn);
    }
}

/// A definition with the full names of its models.
fn with_full_model_names(spec: &AgentSpec, models: &ConfiguredModelSet) -> AgentSpec {
    AgentSpec { models: spec.models.iter().map(|name| models.full_name(name)).collect(), ..spec.clone() }
}
