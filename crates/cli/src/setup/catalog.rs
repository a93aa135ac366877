//! Loads the catalogue of a run, prints its problems, and converts it for the runtime.

use std::path::{Path, PathBuf};

use config::{
    AgentConfig, CatalogListing, CatalogLocations, DefinitionProblem, DescriptionOverflow, Env, ForbiddableFeature,
    InlineDefinitions, ModelAccess, Project, RemoteCatalog, RemoteState, SettingsLayers, Severity,
};
use host::{Clock, SystemClock};
use protocol::{AgentSpec, DefinitionSource, HookSpec, SessionOptions, SettingsFileScope};
use runtime::slash::SlashRegistry;
use runtime::{Catalog, ModelResolver};
use serde_json::Value;

use super::models::ConfiguredModelSet;
use super::{Setup, settings_failure};
use crate::error::CliError;
use crate::{print, time};

/// The maximum number of problems printed at the start of a run.
const MAX_PRINTED_PROBLEMS: usize = 10;

/// The maximum size of a file given to `--agents`.
const MAX_AGENTS_FILE_BYTES: u64 = 1 << 20;

/// The gathered definitions with their parsed hooks.
#[derive(Debug)]
pub(crate) struct LoadedCatalog {
    pub(crate) listing: CatalogListing,
    hooks: Vec<HookSpec>,
}

impl Setup {
    /// Fetches the remote catalogue, if there is one, for a folder.
    pub(crate) async fn fetch_remote_catalog(&mut self, folder: Option<&Path>) {
        let cwd = super::working_folder(folder).unwrap_or_default();
        let catalog = remote_catalog(&self.env, &self.config.agents, self.home.root(), &Project::find(&cwd).dir);
        if let Some(catalog) = catalog {
            self.remote = catalog.fetch(SystemClock.now()).await;
        }
    }

    /// Loads all definitions that apply in a folder.
    pub(crate) fn load_catalog(
        &self,
        layers: &SettingsLayers,
        options: &SessionOptions,
    ) -> Result<LoadedCatalog, CliError> {
        let named = options.agents_source.as_deref().map(read_agents).transpose()?;
        let listed = options.agents.clone().map(|agents| (None, Value::Object(agents).to_string()));
        let agents: Vec<(Option<&str>, String)> = named.into_iter().chain(listed).collect();
        let inline: Vec<InlineDefinitions<'_>> = agents
            .iter()
            .map(|(file, text)| InlineDefinitions { name: Path::new(file.unwrap_or("--agents")), text })
            .collect();
        let locations = CatalogLocations {
            home: self.home.root(),
            user_home: self.env.user_home.as_deref(),
            project_dir: &layers.project.dir,
            trust: layers.trust,
            scopes: options.setting_sources.as_deref().unwrap_or(&SettingsFileScope::ALL),
            plugins: &options.plugin_dirs,
            inline: &inline,
            remote: self.remote.clone(),
            hooks_forbidden_by: layers.forbidden_by(ForbiddableFeature::Hooks).map(Path::to_owned),
        };
        let listing = config::gather_catalog(&locations).map_err(|problems| {
            let messages: Vec<String> = problems.iter().map(ToString::to_string).collect();
            settings_failure(messages.join("\n"))
        })?;
        Ok(LoadedCatalog::new(listing))
    }
}

/// The remote catalogue named in the settings, with the query for a project.
pub(crate) fn remote_catalog(env: &Env, agents: &AgentConfig, home: &Path, top: &Path) -> Option<RemoteCatalog> {
    let AgentConfig { catalog, catalog_token_env, .. } = agents;
    Some(RemoteCatalog {
        url: catalog.clone()?,
        token: catalog_token_env.as_deref().and_then(|variable| env.key(variable)),
        repository: config::remote_url(top),
        route: env.network_route(),
        home: home.to_owned(),
    })
}

/// The value of `--agents`: JSON, or a file that contains it.
fn read_agents(value: &str) -> Result<(Option<&str>, String), CliError> {
    if value.trim_start().starts_with(['{', '[']) {
        return Ok((None, value.to_owned()));
    }
    let unreadable = |reason: String| {
        settings_failure(format!("--agents: cannot read {value}: {reason}"))
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
    pub(crate) fn new(mut listing: CatalogListing) -> LoadedCatalog {
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

    /// All definitions without hooks, since a file disables them.
    fn without_hooks(mut listing: CatalogListing, file: PathBuf) -> LoadedCatalog {
        let message = "no hooks run because `disableAllHooks` is set".into();
        let remedy = "remove it to run them".into();
        listing.problems.push(DefinitionProblem { file, at: None, severity: Severity::Warning, message, remedy });
        LoadedCatalog { listing, hooks: Vec::new() }
    }

    /// Adds a problem for each agent that cannot be started: unsupported fields, or no available model.
    pub(crate) fn add_unusable_agents(&mut self, agents: &AgentConfig, access: &ModelAccess) {
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
    pub(super) fn hook_programs(&self, folders: &[&Path], user: Option<&Path>) -> Vec<PathBuf> {
        let agent_hooks = self.listing.effective().flat_map(|agent| &agent.spec.hooks);
        self.hooks.iter().chain(agent_hooks).flat_map(|spec| config::hook_programs(spec, folders, user)).collect()
    }

    /// Fails if there are problems and `--strict` is set.
    pub(super) fn require_no_problems(&self, strict: bool) -> Result<(), CliError> {
        let problems = &self.listing.problems;
        let remote_error = describe_remote(&self.listing.remote).filter(|(severity, _)| *severity == Severity::Error);
        if !strict || (problems.is_empty() && remote_error.is_none()) {
            return Ok(());
        }
        let mut lines: Vec<String> = problems.iter().take(MAX_PRINTED_PROBLEMS).map(ToString::to_string).collect();
        lines.extend(remote_error.map(|(_, message)| message));
        if let Some(more) = problems.len().checked_sub(MAX_PRINTED_PROBLEMS).filter(|more| *more > 0) {
            lines.push(format!("and {more} more"));
        }
        let message = format!("the catalogue has problems, and --strict is set:\n{}", lines.join("\n"));
        Err(settings_failure(message).with_hint("`bosun catalog check` lists everything"))
    }

    /// The definition of the session's own agent.
    pub(super) fn main_agent(&self, name: &str, models: &ConfiguredModelSet) -> Result<AgentSpec, CliError> {
        let invocable = || self.listing.effective().filter(|agent| agent.spec.user_invocable);
        let agent = self.listing.agent(name).filter(|agent| agent.spec.user_invocable);
        let Some(agent) = agent else {
            let names: Vec<&str> = invocable().map(|agent| agent.spec.name.as_str()).collect();
            return Err(settings_failure(format!("there is no agent `{name}` that you can start"))
                .with_hint(format!("there are: {}", names.join(", "))));
        };
        if !agent.spec.unsupported.is_empty() {
            let reasons = agent.spec.unsupported.join("; ");
            return Err(settings_failure(format!("`{name}` cannot be started: {reasons} (see {})", agent.spec.source)));
        }
        Ok(with_full_model_names(&agent.spec, models))
    }

    /// The effective definitions for the runtime.
    pub(super) fn catalog(&self, models: &ConfiguredModelSet) -> Catalog {
        Catalog {
            agents: self.listing.effective().map(|agent| with_full_model_names(&agent.spec, models)).collect(),
            skills: self.listing.effective_skills().map(|skill| skill.spec.clone()).collect(),
            hooks: self.hooks.clone(),
            slash_commands: self.listing.effective_slash_commands().map(|slash| slash.spec.clone()).collect(),
            untrusted_commands: self.listing.untrusted.clone(),
        }
    }

    /// Prints problems at the start of a run.
    pub(super) fn print_problems(&self, agents: &AgentConfig) {
        let has = |severity| move |problem: &&DefinitionProblem| problem.severity == severity;
        let errors: Vec<_> = self.listing.problems.iter().filter(has(Severity::Error)).collect();
        for problem in errors.iter().take(MAX_PRINTED_PROBLEMS) {
            print::note(print::sanitize(&problem.to_string()));
        }
        let count = |severity| self.listing.problems.iter().filter(has(severity)).count();
        let hidden = errors.len().saturating_sub(MAX_PRINTED_PROBLEMS) + count(Severity::Warning);
        if hidden > 0 {
            let problems = print::pluralize(hidden, "more problem");
            print::note(format_args!("{problems} in the catalogue: see `bosun catalog check`"));
        }
        match count(Severity::Untrusted) {
            0 => {}
            files => print::note(format_args!(
                "{files} of the project's agents, skills, commands and hooks are ignored because it is not trusted; \
                 review them, then run `bosun trust`"
            )),
        }
        if let Some((_, message)) = describe_remote(&self.listing.remote) {
            print::note(print::sanitize(&message));
        }
        if let Some(overflow) = self.description_overflow(agents) {
            print::note(format_args!("{overflow}; shorten them, or raise agents.description-limit"));
        }
    }

    /// Whether the descriptions take too much of every request.
    pub(crate) fn description_overflow(&self, agents: &AgentConfig) -> Option<DescriptionOverflow> {
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

/// The message about the state of the remote catalogue, and its severity.
pub(crate) fn describe_remote(state: &RemoteState) -> Option<(Severity, String)> {
    match state {
        RemoteState::Unset | RemoteState::Fresh { .. } | RemoteState::Cached { why: None, .. } => None,
        RemoteState::Cached { url, fetched_at, why: Some(why) } => {
            let ago = time::format_age(*fetched_at, SystemClock.now());
            Some((Severity::Error, format!("{url}: {why}; its agents from {ago} ago are used")))
        }
        RemoteState::Down { url, why } => Some((Severity::Error, format!("{url}: {why}; its agents are missing"))),
        RemoteState::Unasked { url } => {
            Some((Severity::Warning, format!("{url}: not fetched yet, so its agents are missing")))
        }
    }
}

/// A definition with the full names of its models.
fn with_full_model_names(spec: &AgentSpec, models: &ConfiguredModelSet) -> AgentSpec {
    AgentSpec { models: spec.models.iter().map(|name| models.full_name(name)).collect(), ..spec.clone() }
}
