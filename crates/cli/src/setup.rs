//! Builds the settings of a session from flags, environment and files.

mod catalog;
mod layers;
mod models;
mod unused_settings;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use config::{
    Config, Env, ForbiddableFeature, ModelAccess, Project, RemoteDefinitions, SettingsLayers, SettingsLocations,
    TrustStatus,
};
use host::{Home, SystemClock, TimeIds};
use model::{Model, RecordingModel};
use protocol::api::SessionView;
use protocol::{PlanAction, ReasoningEffort, SessionOptions, SettingsFileScope};
use runtime::{Catalog, ModelResolver, SessionSettings};
use server::ClientProvider;

use crate::args::RunArgs;
use crate::error::{CliError, MissingInput};
use crate::style::Style;
use crate::{fault_injection, log, one_time_notices, print};

pub(crate) use catalog::{LoadedCatalog, describe_remote, remote_catalog};
pub(crate) use layers::{settings_failure, trust_status};
pub(crate) use model::is_file_provider;
use models::ConfiguredModelSet;

/// The environment, home and settings that every command needs.
pub(crate) struct Setup {
    pub(crate) env: Env,
    pub(crate) home: Home,
    /// The user's settings; a folder may have others.
    pub(crate) config: Config,
    /// The fetched definitions of the remote catalogue.
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

    /// Reads the setup for a command that may only read: the home need not be writable.
    pub(crate) fn read_only() -> Result<Setup, CliError> {
        let env = Env::read();
        let Some(root) = env.home.clone() else { return Setup::read() };
        Setup::with_home(env, Home::open_to_read(root)?)
    }

    /// Reads the setup with another home.
    pub(crate) fn with_home_at(env: Env, root: PathBuf) -> Result<Setup, CliError> {
        Setup::with_home(env, Home::open(root)?)
    }

    fn with_home(env: Env, home: Home) -> Result<Setup, CliError> {
        print::set_style(Style::of(&std::io::stdout(), &env));
        log::start(&home, env.log.as_deref())?;
        let layers = SettingsLayers::read(&SettingsLocations {
            home: home.root(),
            user_home: env.user_home.as_deref(),
            managed: env.managed.as_deref(),
            project: Project { dir: home.root().to_owned(), foreign_repository: None },
            trust: TrustStatus::Untrusted,
            scopes: &[SettingsFileScope::User],
        });
        let config = layers.map_err(settings_failure)?.config();
        log::redact_secrets(&config.secrets(&env));
        Ok(Setup { env, home, config, remote: RemoteDefinitions::default() })
    }

    /// The settings of a run. A resumed session provides what the flags do not set. Prints warnings about the files.
    pub(crate) fn settings(&self, args: &RunArgs, resumed: Option<&SessionView>) -> Result<SessionSettings, CliError> {
        let (settings, default) = self.settings_with_provider(&args.session_options(), resumed, None)?;
        one_time_notices::print_once(&self.home, default.filter(|_| args.shows_progress()));
        args.permissions.warn_unknown_tools();
        Ok(settings)
    }

    /// The model access that a run with these arguments would have.
    pub(crate) fn access(&self, args: &RunArgs) -> Result<ModelAccess, CliError> {
        let cwd = working_folder(args.directory.as_deref())?;
        self.layers(&args.session_options(), None, &cwd)?.config().access(&self.env).map_err(settings_failure)
    }

    /// Fails if a run with these arguments would have no model. The file of `--agent` may name one, so it is not checked.
    pub(crate) fn require_model(&self, args: &RunArgs, resumed: Option<&SessionView>) -> Result<(), CliError> {
        if args.agent.is_some() {
            return Ok(());
        }
        let cwd = working_folder(args.directory.as_deref().or(resumed.map(|resumed| Path::new(&resumed.cwd))))?;
        let mut config = self.layers(&args.session_options(), resumed, &cwd)?.config();
        let access = config.access(&self.env).map_err(settings_failure)?;
        let _printed_by_the_run = models::apply_default_model(&mut config, &access);
        chosen_model(&config).map(|_spec| ())
    }

    /// The settings of a session with an additional provider from the client, and a notice if its model was not chosen.
    pub(crate) fn settings_with_provider(
        &self,
        options: &SessionOptions,
        resumed: Option<&SessionView>,
        provider: Option<ClientProvider>,
    ) -> Result<(SessionSettings, Option<String>), CliError> {
        let cwd = working_folder(options.cwd.as_deref().or(resumed.map(|resumed| Path::new(&resumed.cwd))))?;
        let layers = self.layers(options, resumed, &cwd)?;
        let mut config = layers.config();
        let mut access = config.access(&self.env).map_err(settings_failure)?;
        if let Some(provider) = provider {
            access.add_provider(ClientProvider::NAME, "baseUrl", provider.provider).map_err(settings_failure)?;
        }
        // The folder's settings may name more secrets than the user's.
        log::redact_secrets(&access.secrets);
        let roots = self.roots(&layers)?;
        let catalog = self.load_catalog(&layers, options)?;
        let policy = self.policy_of(&layers, &catalog, &cwd, &roots)?;
        catalog.require_no_problems(options.strict)?;
        let models = ConfiguredModelSet::new(&access.providers, &cwd, &config.agents);
        let mut main_agent = options.agent.as_deref().map(|name| catalog.main_agent(name, &models)).transpose()?;
        // The agent's file overrides the settings, and flags override the agent's file.
        match (&mut main_agent, &options.model) {
            (Some(main), Some(_)) => main.models.clear(),
            (Some(main), None) if !main.models.is_empty() => config.model = Some(models.first_available(&main.models)?),
            (Some(_) | None, _) => {}
        }
        let default = models::apply_default_model(&mut config, &access);
        let (model, model_spec) = open_model(&config, options, &cwd, &access)?;
        expect_known_price(&*model, &model_spec, &config, budget_remedy(options, resumed))?;
        layers::print_warnings(&layers);
        catalog.print_problems(&config.agents);
        one_time_notices::print_once(&self.home, unused_settings::unused_notices(&layers, &access, &self.env));
        let settings = SessionSettings {
            home: self.home.clone(),
            cwd,
            added_folders: roots,
            model,
            model_spec,
            cost_guard: models::cost_guard(&config.agents),
            catalog: Arc::new(catalog.catalog(&models)),
            models: Arc::new(models),
            main_agent,
            client_extensions: runtime::ClientExtensions::default(),
            id: None,
            features: runtime::SessionFeatures {
                multi_turn: config.multi_turn,
                prompt_suggestions: config.prompt_suggestions,
                parallelism_prompts: config.parallelism_prompts,
                inline_shell: layers.forbidden_by(ForbiddableFeature::SkillShell).is_none(),
            },
            policy,
            rules: layers.session_rules(),
            mode: options.mode,
            default_plan_action: options.plan_exit.unwrap_or(PlanAction::ExitOnly),
            ask_user: options.ask_user.unwrap_or(true) && resumed.is_none_or(|resumed| resumed.ask_user),
            day_budget: config.day_budget,
            ask_wait: options.ask_wait_seconds.map(|time| time.0),
            limits: config.limits.clone(),
            watchdog: runtime::WatchdogSettings {
                stall_after: config.stall_after,
                abort_after: config.abort_after,
                ..runtime::WatchdogSettings::default()
            },
            list: config.list.clone(),
            max_turns: config.max_turns,
            budget: config.budget,
            timeout: options.timeout_seconds.map(|time| time.0),
            effort: config.effort,
            secrets: access.secrets.into(),
            route: self.env.network_route(),
            tools: tools::ToolLimits { command_memory_bytes: config.command_memory, ..tools::ToolLimits::default() },
            spools: Arc::new(runtime::Spools::new(spool_limits(&config), Arc::new(runtime::SystemDisk))),
            // Not the path of the program: it may hold another version by the time the guardian starts.
            guardian: PathBuf::from("/proc/self/exe"),
            env: access.program_env,
            clock: Arc::new(SystemClock),
            ids: Arc::new(TimeIds),
            probe: fault_injection::probe(self.env.fault.as_deref())?,
        };
        Ok((settings, default))
    }
}

/// The agents and models available in a folder, whether or not a model is chosen.
pub(crate) struct FolderAgents {
    pub(crate) catalog: Catalog,
    pub(crate) models: Arc<dyn ModelResolver>,
    pub(crate) model: Option<String>,
    pub(crate) effort: Option<ReasoningEffort>,
}

impl Setup {
    /// The agents and models that a run with these options would find in a folder.
    pub(crate) fn folder_agents(&self, options: &SessionOptions, cwd: &Path) -> Result<FolderAgents, CliError> {
        let layers = self.layers(options, None, cwd)?;
        let mut config = layers.config();
        let access = config.access(&self.env).map_err(settings_failure)?;
        let _printed_by_the_run = models::apply_default_model(&mut config, &access);
        let models = ConfiguredModelSet::new(&access.providers, cwd, &config.agents);
        let catalog = self.load_catalog(&layers, options)?.catalog(&models);
        let model = config.model.as_deref().map(|spec| access.providers.full_name(spec, cwd));
        Ok(FolderAgents { catalog, models: Arc::new(models), model, effort: config.effort })
    }
}

/// The disk limits for command output.
fn spool_limits(config: &Config) -> runtime::SpoolLimits {
    let Config { command_bytes, session_bytes, min_free_bytes, .. } = config;
    runtime::SpoolLimits { command: *command_bytes, session: *session_bytes, min_free: *min_free_bytes }
}

/// How the user can remove the run's dollar budget, which no flag unsets.
fn budget_remedy(options: &SessionOptions, resumed: Option<&SessionView>) -> &'static str {
    match (options.max_budget_usd, resumed) {
        (Some(_), _) => "limit it with --max-tokens-total instead",
        (None, Some(_)) => "continue with a model that has a price",
        (None, None) => "remove `usd` from [budget] in config.toml",
    }
}

/// The model that the settings choose.
fn chosen_model(config: &Config) -> Result<&str, CliError> {
    config.model.as_deref().ok_or_else(|| {
        CliError::usage("no model is chosen")
            .with_hint(
                "set ANTHROPIC_API_KEY or OPENAI_API_KEY, or give one with --model, such as \
                 anthropic/claude-sonnet-5-5 or ollama/qwen3:8b, with BOSUN_MODEL, or as `model` in config.toml; \
                 `bosun models` lists all models, and `bosun demo` needs none",
            )
            .with_missing_input(MissingInput::Model)
    })
}

/// Opens the model; returns it with its full name.
fn open_model(
    config: &Config,
    options: &SessionOptions,
    cwd: &Path,
    access: &ModelAccess,
) -> Result<(Arc<dyn Model>, String), CliError> {
    let spec = chosen_model(config)?;
    let model = model::open(spec, cwd, &access.providers)?;
    let spec = access.providers.full_name(spec, cwd);
    match &options.record {
        Some(file) => Ok((Arc::new(RecordingModel::open(model, file).map_err(CliError::usage)?), spec)),
        None => Ok((model, spec)),
    }
}

/// Fails if a dollar budget applies but the price of the model is unknown.
fn expect_known_price(model: &dyn Model, spec: &str, config: &Config, remedy: &str) -> Result<(), CliError> {
    let remedy = if config.budget.micros.is_some() && model.facts().price.is_none() {
        remedy
    } else if config.day_budget.is_some() && model.facts().is_price_missing() {
        "remove `day-usd` from [budget] in config.toml"
    } else {
        return Ok(());
    };
    let refusal = CliError::usage(format!(
        "the price of {} is unknown, so a budget in dollars cannot be enforced",
        model::display_name(spec)
    ));
    Err(match spec.split_once('/') {
        Some((provider, name)) if !is_file_provider(provider) => refusal.with_hint(format!(
            "{remedy}, or give its price in config.toml: [providers.{provider}.models.\"{name}\"] \
             with input and output, in dollars per million tokens"
        )),
        Some(_) | None => refusal.with_hint(remedy),
    })
}

/// The folder to work in, as an absolute path.
pub(crate) fn working_folder(path: Option<&Path>) -> Result<PathBuf, CliError> {
    let folder = path.unwrap_or(Path::new("."));
    real_folder(folder).map_err(|error| {
        let shown = path.unwrap_or(Path::new("the working directory")).display();
        let hint = match error.kind() {
            io::ErrorKind::PermissionDenied => "change its permissions, or choose another folder with -C",
            _other => "choose another folder with -C",
        };
        CliError::usage(format!("cannot work in {shown}: {error}")).with_hint(hint)
    })
}

/// The canonical path of a folder that can be entered and read.
fn real_folder(folder: &Path) -> io::Result<PathBuf> {
    let real = folder.canonicalize()?;
    if !real.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    // Without the right to enter the folder, every file in it looks unreadable.
    std::fs::read_dir(&real)?;
    real.join(".").symlink_metadata()?;
    Ok(real)
}
