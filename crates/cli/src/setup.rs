//! Wiring: from flags, environment and files to the settings of a session.

mod catalog;
mod layers;
mod models;
mod unused;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use config::{Access, Choice, Config, Env, Feature, File, Layers, Places, Project, Remote, Standing};
use doors::ClientProvider;
use host::{Home, SystemClock, TimeIds};
use model::{Model, Recorder};
use protocol::api::SessionView;
use protocol::{Effort, PlanAction};
use runtime::{Catalog, Models, Settings};

use crate::args::{DefinitionArgs, PermitArgs, RunArgs};
use crate::failure::{Failure, Lacks};
use crate::style::Style;
use crate::{fault, log, print, told};

pub(crate) use catalog::{Found, remote_catalog, remote_words};
pub(crate) use layers::{refused, standing};
pub(crate) use model::is_file;
use models::Known;

/// What every command needs.
pub(crate) struct Setup {
    pub(crate) env: Env,
    pub(crate) home: Home,
    /// The user's settings; those of a folder may be others.
    pub(crate) config: Config,
    /// What is known of the remote catalogue.
    remote: Remote,
}

impl Setup {
    /// Reads the environment and the user's file, and opens Bosun's home.
    pub(crate) fn read() -> Result<Setup, Failure> {
        let env = Env::read();
        let root = env.home.clone().ok_or_else(|| {
            Failure::usage("neither BOSUN_HOME nor HOME is set").hint("set BOSUN_HOME to a folder of your own")
        })?;
        Setup::at(env, root)
    }

    /// The same for a command that may only want to read: a home that cannot be written will do.
    pub(crate) fn to_read() -> Result<Setup, Failure> {
        let env = Env::read();
        let Some(root) = env.home.clone() else { return Setup::read() };
        Setup::with(env, Home::open_to_read(root)?)
    }

    /// The same with another home.
    pub(crate) fn at(env: Env, root: PathBuf) -> Result<Setup, Failure> {
        Setup::with(env, Home::open(root)?)
    }

    fn with(env: Env, home: Home) -> Result<Setup, Failure> {
        print::use_style(Style::of(&std::io::stdout(), &env));
        log::start(&home, env.log.as_deref())?;
        let users = Layers::read(&Places {
            home: home.root(),
            user: env.user.as_deref(),
            managed: env.managed.as_deref(),
            project: Project { top: home.root().to_owned(), stranger: None },
            standing: Standing::Untrusted,
            read: &[Choice::User],
        });
        let config = users.map_err(refused)?.config();
        log::hide(&config.secrets(&env));
        Ok(Setup { env, home, config, remote: Remote::default() })
    }

    /// The settings of a run; one that goes on with a session takes over what the flags do not say. Tells what of the
    /// files a person should know.
    pub(crate) fn settings(&self, args: &RunArgs, before: Option<&SessionView>) -> Result<Settings, Failure> {
        let settings = self.settings_with(args, before, None)?;
        args.permit.tell_unknown_tools();
        Ok(settings)
    }

    /// The way to every model that a run with these arguments would have.
    pub(crate) fn access(&self, args: &RunArgs) -> Result<Access, Failure> {
        let cwd = folder(args.directory.as_deref())?;
        self.layers(&args.permit, args.file()?, None, &cwd)?.config().access(&self.env).map_err(refused)
    }

    /// The same with a provider that whoever drives the session brings along.
    pub(crate) fn settings_with(
        &self,
        args: &RunArgs,
        before: Option<&SessionView>,
        provider: Option<ClientProvider>,
    ) -> Result<Settings, Failure> {
        let cwd = folder(args.directory.as_deref().or(before.map(|before| Path::new(&before.cwd))))?;
        let layers = self.layers(&args.permit, args.file()?, before, &cwd)?;
        let mut config = layers.config();
        let mut access = config.access(&self.env).map_err(refused)?;
        if let Some(provider) = provider {
            access.bring(ClientProvider::NAME, "baseUrl", provider.at).map_err(refused)?;
        }
        // The folder's own settings may hide more than the user's.
        log::hide(&access.secrets);
        let roots = self.roots(&layers)?;
        let found = self.found(&layers, &args.permit.choices(), &args.definitions)?;
        let policy = self.policy_of(&layers, &found, &cwd, &roots)?;
        found.expect_flawless(args.strict)?;
        let models = Known::new(&access.providers, &cwd, &config.agents);
        let mut main = args.agent.as_deref().map(|name| found.main(name, &models)).transpose()?;
        // What the agent's file says stands above settings, and below what was typed.
        match (&mut main, &args.model) {
            (Some(main), Some(_)) => main.models.clear(),
            (Some(main), None) if !main.models.is_empty() => config.model = Some(models.first(&main.models)?),
            (Some(_) | None, _) => {}
        }
        let default = models::by_default(&mut config, &access).filter(|_| args.is_for_people());
        let (model, model_spec) = choose(&config, args, &cwd, &access)?;
        affordable(&*model, &model_spec, &config, way_out(args, before))?;
        layers::tell(&layers);
        found.tell(&config.agents);
        told::once(&self.home, unused::words(&layers, &access, &self.env).into_iter().chain(default));
        Ok(Settings {
            home: self.home.clone(),
            cwd,
            roots,
            model,
            model_spec,
            guard: models::guard(&config.agents),
            catalog: Arc::new(found.catalog(&models)),
            models: Arc::new(models),
            main,
            guests: runtime::Guests::default(),
            id: None,
            features: runtime::Features {
                multi_turn: config.multi_turn,
                prompt_suggestions: config.prompt_suggestions,
                parallelism_prompts: config.parallelism_prompts,
                inline_shell: layers.forbids(Feature::SkillShell).is_none(),
            },
            policy,
            rules: layers.session_rules(),
            mode: args.mode.typed(),
            plan_exit: args.mode.plan_exit.unwrap_or(PlanAction::ExitOnly),
            ask_user: !args.no_ask_user && before.is_none_or(|before| before.ask_user),
            day_budget: config.day_budget,
            ask_wait: args.ask_wait(),
            limits: config.limits.clone(),
            watch: runtime::Watch {
                stall_after: config.stall_after,
                abort_after: config.abort_after,
                ..runtime::Watch::default()
            },
            list: config.list.clone(),
            max_turns: config.max_turns,
            budget: config.budget,
            timeout: args.timeout,
            effort: config.effort,
            secrets: access.secrets.into(),
            route: self.env.route(),
            tools: tools::Limits { command_memory: config.command_memory, ..tools::Limits::default() },
            spools: Arc::new(runtime::Spools::new(spool_limits(&config), Arc::new(runtime::SystemDisk))),
            // Not the file's path: that may hold another version by the time the guardian starts.
            guardian: PathBuf::from("/proc/self/exe"),
            env: access.programs,
            clock: Arc::new(SystemClock),
            ids: Arc::new(TimeIds),
            probe: fault::probe(self.env.fault.as_deref())?,
        })
    }
}

/// Who could work in a folder, whether or not a model is chosen.
pub(crate) struct Staffing {
    pub(crate) catalog: Catalog,
    pub(crate) models: Arc<dyn Models>,
    pub(crate) model: Option<String>,
    pub(crate) effort: Option<Effort>,
}

impl Setup {
    /// Who could work in a folder, as a run with these definitions would find it.
    pub(crate) fn staffing(
        &self,
        permit: &PermitArgs,
        definitions: &DefinitionArgs,
        typed: File,
        cwd: &Path,
    ) -> Result<Staffing, Failure> {
        let layers = self.layers(permit, typed, None, cwd)?;
        let mut config = layers.config();
        let access = config.access(&self.env).map_err(refused)?;
        let _told_by_the_run = models::by_default(&mut config, &access);
        let models = Known::new(&access.providers, cwd, &config.agents);
        let catalog = self.found(&layers, &permit.choices(), definitions)?.catalog(&models);
        let model = config.model.as_deref().map(|spec| access.providers.in_full(spec, cwd));
        Ok(Staffing { catalog, models: Arc::new(models), model, effort: config.effort })
    }
}

/// How much disk the output of commands may take.
fn spool_limits(config: &Config) -> runtime::SpoolLimits {
    let Config { command_bytes, session_bytes, min_free_bytes, .. } = config;
    runtime::SpoolLimits { command: *command_bytes, session: *session_bytes, min_free: *min_free_bytes }
}

/// How a run gets rid of its budget of money, which no flag takes back.
fn way_out(args: &RunArgs, before: Option<&SessionView>) -> &'static str {
    match (args.max_budget_usd, before) {
        (Some(_), _) => "limit it with --max-tokens-total instead",
        (None, Some(_)) => "go on with a model that has a price",
        (None, None) => "take `usd` out of [budget] in config.toml",
    }
}

/// The model, and its name in full.
fn choose(config: &Config, args: &RunArgs, cwd: &Path, access: &Access) -> Result<(Arc<dyn Model>, String), Failure> {
    let spec = config.model.as_ref().ok_or_else(|| {
        Failure::usage("no model is chosen").hint(
            "set ANTHROPIC_API_KEY or OPENAI_API_KEY, or give one with --model, such as anthropic/claude-sonnet-5-5 or \
             ollama/qwen3:8b, with BOSUN_MODEL, or as `model` in config.toml; `bosun models` lists what there is, and \
             `bosun demo` needs none",
        )
        .lacking(Lacks::Model)
    })?;
    let model = model::open(spec, cwd, &access.providers)?;
    let spec = access.providers.in_full(spec, cwd);
    match &args.record {
        Some(file) => Ok((Arc::new(Recorder::open(model, file).map_err(Failure::usage)?), spec)),
        None => Ok((model, spec)),
    }
}

/// Fails when a budget of money is to be held for a model whose price nobody knows.
fn affordable(model: &dyn Model, spec: &str, config: &Config, way_out: &str) -> Result<(), Failure> {
    let way_out = if config.budget.micros.is_some() && model.facts().price.is_none() {
        way_out
    } else if config.day_budget.is_some() && model.facts().is_price_missing() {
        "take `day-usd` out of [budget] in config.toml"
    } else {
        return Ok(());
    };
    let refusal = Failure::usage(format!("the price of {spec} is not known, so no budget in dollars can be held"));
    Err(match spec.split_once('/') {
        Some((provider, name)) if !is_file(provider) => refusal.hint(format!(
            "{way_out}, or give its price in config.toml: [providers.{provider}.models.\"{name}\"] \
             with input and output, in dollars for a million tokens"
        )),
        Some(_) | None => refusal.hint(way_out),
    })
}

/// The folder to work in, as an absolute path.
pub(crate) fn folder(given: Option<&Path>) -> Result<PathBuf, Failure> {
    let folder = given.unwrap_or(Path::new("."));
    real_folder(folder).map_err(|error| {
        let shown = given.unwrap_or(Path::new("the working directory")).display();
        let hint = match error.kind() {
            io::ErrorKind::PermissionDenied => "change its permissions, or choose another folder with -C",
            _other => "choose another folder with -C",
        };
        Failure::usage(format!("cannot work in {shown}: {error}")).hint(hint)
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
