//! The catalogue of a run: gathered, told about, and handed on.

use std::path::{Path, PathBuf};

use config::{
    AgentConfig, CatalogListing, CatalogLocations, DefinitionProblem, DescriptionOverflow, Env, ForbiddableFeature,
    InlineDefinitions, ModelAccess, Project, RemoteCatalog, RemoteState, SettingsFileScope, SettingsLayers, Severity,
};
use host::{Clock, SystemClock};
use protocol::{AgentSpec, DefinitionSource, HookSpec};
use runtime::slash::SlashRegistry;
use runtime::{Catalog, ModelResolver};

use super::models::ConfiguredModelSet;
use super::{Setup, settings_failure};
use crate::args::DefinitionArgs;
use crate::error::CliError;
use crate::{print, time};

/// Most problems that are told at the start of a run.
const MAX_PRINTED_PROBLEMS: usize = 10;

/// Most bytes of a file that `--agents` names.
const MAX_AGENTS_FILE_BYTES: u64 = 1 << 20;

/// Everything that was found, its hooks read.
#[derive(Debug)]
pub(crate) struct LoadedCatalog {
    pub(crate) gathered: CatalogListing,
    hooks: Vec<HookSpec>,
}

impl Setup {
    /// Asks the remote catalogue, if there is one, for what concerns a folder.
    pub(crate) async fn fetch_remote_catalog(&mut self, folder: Option<&Path>) {
        let cwd = super::folder(folder).unwrap_or_default();
        let catalog = remote_catalog(&self.env, &self.config.agents, self.home.root(), &Project::find(&cwd).top);
        if let Some(catalog) = catalog {
            self.remote = catalog.fetch(SystemClock.now()).await;
        }
    }

    /// Everything that counts in a folder.
    pub(crate) fn load_catalog(
        &self,
        layers: &SettingsLayers,
        read: &[SettingsFileScope],
        typed: &DefinitionArgs,
    ) -> Result<LoadedCatalog, CliError> {
        let given = typed.agents.as_deref().map(read_given_agents).transpose()?;
        let name = match &given {
            Some((Some(file), _)) => Path::new(*file),
            Some((None, _)) | None => Path::new("--agents"),
        };
        let places = CatalogLocations {
            home: self.home.root(),
            user: self.env.user.as_deref(),
            top: &layers.project.top,
            trust: layers.trust,
            scopes: read,
            plugins: &typed.plugin_dir,
            inline: given.as_ref().map(|(_, text)| InlineDefinitions { name, text }),
            remote: self.remote.clone(),
            no_hooks: layers.forbids(ForbiddableFeature::Hooks).map(Path::to_owned),
        };
        let gathered = config::gather_catalog(&places).map_err(|problems| {
            let words: Vec<String> = problems.iter().map(ToString::to_string).collect();
            settings_failure(words.join("\n"))
        })?;
        Ok(LoadedCatalog::new(gathered))
    }
}

/// The remote catalogue that settings name, and what is asked of it for a project.
pub(crate) fn remote_catalog(env: &Env, agents: &AgentConfig, home: &Path, top: &Path) -> Option<RemoteCatalog> {
    let AgentConfig { catalog, catalog_token_env, .. } = agents;
    Some(RemoteCatalog {
        url: catalog.clone()?,
        token: catalog_token_env.as_deref().and_then(|variable| env.key(variable)),
        repository: config::remote_of(top),
        route: env.route(),
        home: home.to_owned(),
    })
}

/// What `--agents` gives: JSON, or the file that holds it.
fn read_given_agents(typed: &str) -> Result<(Option<&str>, String), CliError> {
    if typed.trim_start().starts_with(['{', '[']) {
        return Ok((None, typed.to_owned()));
    }
    let unreadable = |why: String| {
        settings_failure(format!("--agents: cannot read {typed}: {why}"))
            .with_hint("give a file, or JSON such as {\"NAME\": {\"description\": \"…\", \"prompt\": \"…\"}}")
    };
    match host::read_plain(Path::new(typed), MAX_AGENTS_FILE_BYTES) {
        Ok(Some(bytes)) => match String::from_utf8(bytes) {
            Ok(text) => Ok((Some(typed), text)),
            Err(_binary) => Err(unreadable("it is not UTF-8 text".into())),
        },
        Ok(None) => Err(unreadable("it does not exist".into())),
        Err(error) => Err(unreadable(error.to_string())),
    }
}

impl LoadedCatalog {
    /// Reads the hooks of what was gathered.
    pub(crate) fn new(mut gathered: CatalogListing) -> LoadedCatalog {
        shadow_built_in_commands(&mut gathered);
        let off = gathered.hooks.iter().find(|text| text.disables_all()).map(|text| text.file.clone());
        if let Some(file) = off {
            return LoadedCatalog::without_hooks(gathered, file);
        }
        let mut all = Vec::new();
        for text in &gathered.hooks {
            let (specs, problems) = text.read();
            all.extend(specs);
            gathered.problems.extend(problems);
        }
        for agent in gathered.agents.iter_mut().filter(|agent| agent.shadowed_by.is_none()) {
            let Some(text) = &agent.hooks else { continue };
            let (specs, problems) = text.read();
            agent.spec.hooks = specs;
            gathered.problems.extend(problems);
        }
        LoadedCatalog { gathered, hooks: all }
    }

    /// Everything but hooks, since a file says that none are to run.
    fn without_hooks(mut gathered: CatalogListing, file: PathBuf) -> LoadedCatalog {
        let words = "no hooks run, since it says `disableAllHooks`".into();
        let remedy = "take that out to run them".into();
        gathered.problems.push(DefinitionProblem {
            file,
            at: None,
            severity: Severity::Warning,
            message: words,
            remedy,
        });
        LoadedCatalog { gathered, hooks: Vec::new() }
    }

    /// Adds what keeps agents from being started: what this version cannot do, and models that nobody can ask.
    pub(crate) fn add_unusable(&mut self, agents: &AgentConfig, access: &ModelAccess) {
        let models = ConfiguredModelSet::new(&access.providers, Path::new("/"), agents);
        let mut problems = Vec::new();
        for agent in self.gathered.effective() {
            let file = PathBuf::from(agent.spec.source.to_string());
            let mut add = |severity, words, remedy: &str| {
                problems.push(DefinitionProblem {
                    file: file.clone(),
                    at: None,
                    severity,
                    message: words,
                    remedy: remedy.to_owned(),
                });
            };
            let name = &agent.spec.name;
            if !agent.spec.unsupported.is_empty() {
                let words = format!("`{name}` cannot be started: {}", agent.spec.unsupported.join("; "));
                add(Severity::Error, words, "take that out of its file");
            }
            let tried: Vec<Result<(), String>> =
                agent.spec.models.iter().map(|model| models.check_available(model)).collect();
            if let Some(Err(why)) = tried.first()
                && tried.iter().all(Result::is_err)
            {
                let words = format!("`{name}` names no model that can be asked: {why}");
                add(Severity::Warning, words, "`bosun models` lists what there is");
            }
        }
        self.gathered.problems.extend(problems);
    }

    /// The files in these folders and in the user's own that hooks run.
    pub(super) fn hook_programs(&self, folders: &[&Path], user: Option<&Path>) -> Vec<PathBuf> {
        let own = self.gathered.effective().flat_map(|agent| &agent.spec.hooks);
        self.hooks.iter().chain(own).flat_map(|spec| config::hook_programs(spec, folders, user)).collect()
    }

    /// Fails when anything is wrong and that is not to be borne.
    pub(super) fn expect_no_problems(&self, strict: bool) -> Result<(), CliError> {
        let problems = &self.gathered.problems;
        let down = describe_remote(&self.gathered.remote).filter(|(severity, _)| *severity == Severity::Error);
        if !strict || (problems.is_empty() && down.is_none()) {
            return Ok(());
        }
        let mut lines: Vec<String> = problems.iter().take(MAX_PRINTED_PROBLEMS).map(ToString::to_string).collect();
        lines.extend(down.map(|(_, words)| words));
        if let Some(more) = problems.len().checked_sub(MAX_PRINTED_PROBLEMS).filter(|more| *more > 0) {
            lines.push(format!("and {more} more"));
        }
        let message = format!("--strict, and something is wrong with the catalogue:\n{}", lines.join("\n"));
        Err(settings_failure(message).with_hint("`bosun catalog check` lists everything"))
    }

    /// The definition of the session's own agent.
    pub(super) fn main_agent(&self, name: &str, models: &ConfiguredModelSet) -> Result<AgentSpec, CliError> {
        let invocable = || self.gathered.effective().filter(|agent| agent.spec.user_invocable);
        let found = self.gathered.agent(name).filter(|agent| agent.spec.user_invocable);
        let Some(agent) = found else {
            let names: Vec<&str> = invocable().map(|agent| agent.spec.name.as_str()).collect();
            return Err(settings_failure(format!("there is no agent `{name}` that you could talk to"))
                .with_hint(format!("there are: {}", names.join(", "))));
        };
        if !agent.spec.unsupported.is_empty() {
            let wants = agent.spec.unsupported.join("; ");
            return Err(settings_failure(format!("`{name}` cannot be started: {wants} (see {})", agent.spec.source)));
        }
        Ok(with_full_names(&agent.spec, models))
    }

    /// Everything that counts, for the runtime.
    pub(super) fn catalog(&self, models: &ConfiguredModelSet) -> Catalog {
        Catalog {
            agents: self.gathered.effective().map(|agent| with_full_names(&agent.spec, models)).collect(),
            skills: self.gathered.effective_skills().map(|skill| skill.spec.clone()).collect(),
            hooks: self.hooks.clone(),
            slash_commands: self.gathered.effective_slashes().map(|slash| slash.spec.clone()).collect(),
            untrusted_commands: self.gathered.untrusted.clone(),
        }
    }

    /// Tells what a person should know at the start of a run.
    pub(super) fn print_problems(&self, agents: &AgentConfig) {
        let of = |severity| move |problem: &&DefinitionProblem| problem.severity == severity;
        let errors: Vec<_> = self.gathered.problems.iter().filter(of(Severity::Error)).collect();
        for problem in errors.iter().take(MAX_PRINTED_PROBLEMS) {
            print::note(print::sanitize(&problem.to_string()));
        }
        let count = |severity| self.gathered.problems.iter().filter(of(severity)).count();
        let hidden = errors.len().saturating_sub(MAX_PRINTED_PROBLEMS) + count(Severity::Warning);
        if hidden > 0 {
            print::note(format_args!("{hidden} more about agents, skills, commands and hooks: `bosun catalog check`"));
        }
        match count(Severity::Untrusted) {
            0 => {}
            files => print::note(format_args!(
                "{files} of the project's agents, skills, commands and hooks are ignored, since you have not trusted it; \
                 look at them, then `bosun trust`"
            )),
        }
        if let Some((_, words)) = describe_remote(&self.gathered.remote) {
            print::note(print::sanitize(&words));
        }
        if let Some(pressure) = self.pressure(agents) {
            print::note(format_args!("{pressure}; shorten them, or raise agents.description-limit"));
        }
    }

    /// Whether descriptions take too much of every request.
    pub(crate) fn pressure(&self, agents: &AgentConfig) -> Option<DescriptionOverflow> {
        DescriptionOverflow::of(self.gathered.effective().map(|agent| &agent.spec), agents.description_limit)
    }
}

/// No file stands in for a slash command that is part of the program.
fn shadow_built_in_commands(gathered: &mut CatalogListing) {
    for slash in gathered.slashes.iter_mut().filter(|slash| SlashRegistry::is_built_in(&slash.spec.name)) {
        let words = format!("/{} is built in, so this one is not used", slash.spec.name);
        let (file, remedy) = (PathBuf::from(&slash.spec.file), "rename it".to_owned());
        gathered.problems.push(DefinitionProblem {
            file,
            at: None,
            severity: Severity::Warning,
            message: words,
            remedy,
        });
        slash.shadowed_by = Some(DefinitionSource::BuiltIn);
    }
}

/// What is to be said of a remote catalogue, and how much it matters.
pub(crate) fn describe_remote(state: &RemoteState) -> Option<(Severity, String)> {
    match state {
        RemoteState::Unset | RemoteState::Fresh { .. } | RemoteState::Cached { why: None, .. } => None,
        RemoteState::Cached { url, fetched_at, why: Some(why) } => {
            let ago = time::format_age(*fetched_at, SystemClock.now());
            Some((Severity::Error, format!("{url}: {why}; its agents of {ago} ago are used")))
        }
        RemoteState::Down { url, why } => Some((Severity::Error, format!("{url}: {why}; its agents are missing"))),
        RemoteState::Unasked { url } => {
            Some((Severity::Warning, format!("{url}: nobody has asked it yet, so its agents are missing")))
        }
    }
}

/// A definition whose models are named so that anybody finds them again.
fn with_full_names(spec: &AgentSpec, models: &ConfiguredModelSet) -> AgentSpec {
    AgentSpec { models: spec.models.iter().map(|name| models.full_name(name)).collect(), ..spec.clone() }
}
