//! Wiring: from flags, environment and files to the settings of a session.

mod catalog;
mod layers;
mod models;
mod unused_settings;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use adapters::ClientProvider;
use config::{
    Config, Env, ForbiddableFeature, ModelAccess, Project, RemoteDefinitions, SettingsFile, SettingsFileScope,
    SettingsLayers, SettingsLocations, TrustStatus,
};
use host::{Home, SystemClock, TimeIds};
use model::{Model, RecordingModel};
use protocol::api::SessionView;
use protocol::{PlanAction, ReasoningEffort};
use runtime::{Catalog, ModelResolver, SessionSettings};

use crate::args::{DefinitionArgs, PermissionArgs, RunArgs};
use crate::error::{CliError, MissingInput};
use crate::style::Style;
use crate::{fault_injection, log, one_time_notices, print};

pub(crate) use catalog::{LoadedCatalog, describe_remote, remote_catalog};
pub(crate) use layers::{settings_failure, trust_status};
pub(crate) use model::is_file_provider;
use models::ConfiguredModelSet;

/// What every command needs.
pub(crate) struct Setup {
    pub(crate) env: Env,
    pub(crate) home: Home,
    /// The user's settings; those of a folder may be others.
    pub(crate) config: Config,
    /// What is known of the remote catalogue.
    remote: RemoteDefinitions,
}

impl Setup {
    /// Reads the environment and the user's file, and opens Bosun's home.
    pub(crate) fn read() -> Result<Setup, CliError> {
        let env = Env::read();
        let root = env.home.clone().ok_or_else(|| {
            CliError::usage("neither BOSUN_HOME nor HOME is set").with_hint("set BOSUN_HOME to a folder of your own")
        })?;
        Setup::with_home_at(env, root)
    }

    /// The same for a command that may only want to read: a home that cannot be written will do.
    pub(crate) fn read_only() -> Result<Setup, CliError> {
        let env = Env::read();
        let Some(root) = env.home.clone() else { return Setup::read() };
        Setup::with_home(env, Home::open_to_read(root)?)
    }

    /// The same with another home.
    pub(crate) fn with_home_at(env: Env, root: PathBuf) -> Result<Setup, CliError> {
        Setup::with_home(env, Home::open(root)?)
    }

    fn with_home(env: Env, home: Home) -> Result<Setup, CliError> {
        print::set_style(Style::of(&std::io::stdout(), &env));
        log::start(&home, env.log.as_deref())?;
        let users = SettingsLayers::read(&SettingsLocations {
            home: home.root(),
            user: env.user.as_deref(),
            managed: env.managed.as_deref(),
            project: Project { top: home.root().to_owned(), foreign_repository: None },
            trust: TrustStatus::Untrusted,
            scopes: &[SettingsFileScope::User],
        });
        let config = users.map_err(settings_failure)?.config();
        log::redact_secrets(&config.secrets(&env));
        Ok(Setup { env, home, config, remote: RemoteDefinitions::default() })
    }

    /// The settings of a run; one that goes on with a session takes over what the flags do not say. Tells what of the
    /// files a person should know.
    pub(crate) fn settings(&self, args: &RunArgs, before: Option<&SessionView>) -> Result<SessionSettings, CliError> {
        let settings = self.settings_with_provider(args, before, None)?;
        args.permissions.warn_unknown_tools();
        Ok(settings)
    }

    /// The way to every model that a run with these arguments would have.
    pub(crate) fn access(&self, args: &RunArgs) -> Result<ModelAccess, CliError> {
        let cwd = folder(args.directory.as_deref())?;
        self.layers(&args.permissions, args.flag_settings()?, None, &cwd)?
            .config()
            .access(&self.env)
            .map_err(settings_failure)
    }

    /// The same with a provider that whoever drives the session brings along.
    pub(crate) fn settings_with_provider(
        &self,
        args: &RunArgs,
        before: Option<&SessionView>,
        provider: Option<ClientProvider>,
    ) -> Result<SessionSettings, CliError> {
        let cwd = folder(args.directory.as_deref().or(before.map(|before| Path::new(&before.cwd))))?;
        let layers = self.layers(&args.permissions, args.flag_settings()?, before, &cwd)?;
        let mut config = layers.config();
        let mut access = config.access(&self.env).map_err(settings_failure)?;
        if let Some(provider) = provider {
            access.add_provider(ClientProvider::NAME, "baseUrl", provider.provider).map_err(settings_failure)?;
        }
        // The folder's own settings may hide more than the user's.
        log::redact_secrets(&access.secrets);
        let roots = self.roots(&layers)?;
        let found = self.load_catalog(&layers, &args.permissions.choices(), &args.definitions)?;
        let policy = self.policy_of(&layers, &found, &cwd, &roots)?;
        found.expect_no_problems(args.strict)?;
        let models = ConfiguredModelSet::new(&access.providers, &cwd, &config.agents);
        let mut main = args.agent.as_deref().map(|name| found.main_agent(name, &models)).transpose()?;
        // What the agent's file says stands above settings, and below what was typed.
        match (&mut main, &args.model) {
            (Some(main), Some(_)) => main.models.clear(),
            (Some(main), None) if !main.models.is_empty() => config.model = Some(models.first_available(&main.models)?),
            (Some(_) | None, _) => {}
        }
        let default = models::apply_default_model(&mut config, &access).filter(|_| args.is_for_people());
        let (model, model_spec) = open_model(&config, args, &cwd, &access)?;
        expect_known_price(&*model, &model_spec, &config, budget_remedy(args, before))?;
        layers::print_warnings(&layers);
        found.print_problems(&config.agents);
        one_time_notices::print_once(
            &self.home,
            unused_settings::unused_notices(&layers, &access, &self.env).into_iter().chain(default),
        );
        Ok(SessionSettings {
            home: self.home.clone(),
            cwd,
            roots,
            model,
            model_spec,
            cost_guard: models::cost_guard(&config.agents),
            catalog: Arc::new(found.catalog(&models)),
            models: Arc::new(models),
            main_agent: main,
            client_extensions: runtime::ClientExtensions::default(),
            id: None,
            features: runtime::SessionFeatures {
                multi_turn: config.multi_turn,
                prompt_suggestions: config.prompt_suggestions,
                parallelism_prompts: config.parallelism_prompts,
                inline_shell: layers.forbids(ForbiddableFeature::SkillShell).is_none(),
            },
            policy,
            rules: layers.session_rules(),
            mode: args.mode.session_mode(),
            plan_exit: args.mode.plan_exit.unwrap_or(PlanAction::ExitOnly),
            ask_user: !args.no_ask_user && before.is_none_or(|before| before.ask_user),
            day_budget: config.day_budget,
            ask_wait: args.ask_wait(),
            limits: config.limits.clone(),
            watchdog: runtime::WatchdogSettings {
                stall_after: config.stall_after,
                abort_after: config.abort_after,
                ..runtime::WatchdogSettings::default()
            },
            list: config.list.clone(),
            max_turns: config.max_turns,
            budget: config.budget,
            timeout: args.timeout,
            effort: config.effort,
            secrets: access.secrets.into(),
            route: self.env.route(),
            tools: tools::ToolLimits { command_memory: config.command_memory, ..tools::ToolLimits::default() },
            spools: Arc::new(runtime::Spools::new(spool_limits(&config), Arc::new(runtime::SystemDisk))),
            // Not the file's path: that may hold another version by the time the guardian starts.
            guardian: PathBuf::from("/proc/self/exe"),
            env: access.programs,
            clock: Arc::new(SystemClock),
            ids: Arc::new(TimeIds),
            probe: fault_injection::probe(self.env.fault.as_deref())?,
        })
    }
}

/// Who could work in a folder, whether or not a model is chosen.
pub(crate) struct FolderAgents {
    pub(crate) catalog: Catalog,
    pub(crate) models: Arc<dyn ModelResolver>,
    pub(crate) model: Option<String>,
    pub(crate) effort: Option<ReasoningEffort>,
}

impl Setup {
    /// Who could work in a folder, as a run with these definitions would find it.
    pub(crate) fn folder_agents(
        &self,
        permit: &PermissionArgs,
        definitions: &DefinitionArgs,
        typed: SettingsFile,
        cwd: &Path,
    ) -> Result<FolderAgents, CliError> {
        let layers = self.layers(permit, typed, None, cwd)?;
        let mut config = layers.config();
        let access = config.access(&self.env).map_err(settings_failure)?;
        let _told_by_the_run = models::apply_default_model(&mut config, &access);
        let models = ConfiguredModelSet::new(&access.providers, cwd, &config.agents);
        let catalog = self.load_catalog(&layers, &permit.choices(), definitions)?.catalog(&models);
        let model = config.model.as_deref().map(|spec| access.providers.full_name(spec, cwd));
        Ok(FolderAgents { catalog, models: Arc::new(models), model, effort: config.effort })
    }
}

/// How much disk the output of commands may take.
fn spool_limits(config: &Config) -> runtime::SpoolLimits {
    let Config { command_bytes, session_bytes, min_free_bytes, .. } = config;
    runtime::SpoolLimits { command: *command_bytes, session: *session_bytes, min_free: *min_free_bytes }
}

/// How a run gets rid of its budget of money, which no flag takes back.
fn budget_remedy(args: &RunArgs, before: Option<&SessionView>) -> &'static str {
    match (args.max_budget_usd, before) {
        (Some(_), _) => "limit it with --max-tokens-total instead",
        (None, Some(_)) => "go on with a model that has a price",
        (None, None) => "take `usd` out of [budget] in config.toml",
    }
}

/// The model, and its name in full.
fn open_model(
    config: &Config,
    args: &RunArgs,
    cwd: &Path,
    access: &ModelAccess,
) -> Result<(Arc<dyn Model>, String), CliError> {
    let spec = config.model.as_ref().ok_or_else(|| {
        CliError::usage("no model is chosen").with_hint(
            "set ANTHROPIC_API_KEY or OPENAI_API_KEY, or give one with --model, such as anthropic/claude-sonnet-5-5 or \
             ollama/qwen3:8b, with BOSUN_MODEL, or as `model` in config.toml; `bosun models` lists what there is, and \
             `bosun demo` needs none",
        )
        .with_missing_input(MissingInput::Model)
    })?;
    let model = model::open(spec, cwd, &access.providers)?;
    let spec = access.providers.full_name(spec, cwd);
    match &args.record {
        Some(file) => Ok((Arc::new(RecordingModel::open(model, file).map_err(CliError::usage)?), spec)),
        None => Ok((model, spec)),
    }
}

/// Fails when a budget of money is to be held for a model whose price nobody knows.
fn expect_known_price(model: &dyn Model, spec: &str, config: &Config, way_out: &str) -> Result<(), CliError> {
    let way_out = if config.budget.micros.is_some() && model.facts().price.is_none() {
        way_out
    } else if config.day_budget.is_some() && model.facts().is_price_missing() {
        "take `day-usd` out of [budget] in config.toml"
    } else {
        return Ok(());
    };
    let refusal = CliError::usage(format!("the price of {spec} is not known, so no budget in dollars can be held"));
    Err(match spec.split_once('/') {
        Some((provider, name)) if !is_file_provider(provider) => refusal.with_hint(format!(
            "{way_out}, or give its price in config.toml: [providers.{provider}.models.\"{name}\"] \
             with input and output, in dollars for a million tokens"
        )),
        Some(_) | None => refusal.with_hint(way_out),
    })
}

/// The folder to work in, as an absolute path.
pub(crate) fn folder(given: Option<&Path>) -> Result<PathBuf, CliError> {
    let folder = given.unwrap_or(Path::new("."));
    real_folder(folder).map_err(|error| {
        let shown = given.unwrap_or(Path::new("the working directory")).display();
        let hint = match error.kind() {
            io::ErrorKind::PermissionDenied => "change its permissions, or choose another folder with -C",
            _other => "choose another folder with -C",
        };
        CliError::usage(format!("cannot work in {shown}: {error}")).with_hint(hint)
    })
}

/// A folder without links, which can be entered and read.
fn real_folder(folder: &Path) -> io::Result<PathBuf> {
    let real = folder.canonicalize()?;
    if !real.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    // What is in it can be looked up only by those who may enter it; without that, every file in it looks unreadable.
    std::fs::read_dir(&real)?;
    real.join(".").symlink_metadata()?;
    Ok(real)
}
