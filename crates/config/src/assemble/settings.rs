//! Assembles the settings of one session.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fleet::FleetEngine;
use host::{SystemClock, TimeIds};
use mcp::{McpServers, McpServersConfig, McpTaskSupport};
use model::{ClientProvider, Provider, TurnHeaders};
use net::RequestCarrier;
use protocol::api::SessionView;
use protocol::{AgentSpec, PlanAction, Refusal, SessionOptions};
use runtime::{
    ClientExtensions, NoWriterProbe, OutsideFiles, SessionFeatures, SessionSettings, SpoolLimits, Spools, SystemDisk,
    WatchdogSettings,
};

use super::folders::working_folder;
use super::{AssembleError, ConfiguredModelSet, SettingsSources, StartNotice, models, notice};
use crate::catalog::{LoadedCatalog, SessionSkillSource};
use crate::config::Config;
use crate::file::ForbiddableFeature;
use crate::layers::SettingsLayers;
use crate::mcp_servers::SessionServerDefiner;
use crate::provider::ModelAccess;
use crate::session_options;

/// The session whose settings are assembled.
#[derive(Debug)]
pub struct SessionRequest<'a> {
    /// Its options.
    pub options: &'a SessionOptions,
    /// The session that it resumes or copies, which provides what the options leave open.
    pub resumed: Option<&'a SessionView>,
    /// The provider that its client supplies.
    pub client_provider: Option<ClientProvider>,
    /// Further providers of its client, by name.
    pub named_providers: BTreeMap<String, Provider>,
    /// The name of its client in requests to models.
    pub client_name: Option<String>,
    /// Carries the requests to models instead of the network, if its client does that.
    pub carrier: Option<Arc<dyn RequestCarrier>>,
    /// Headers that its client adds to the requests of some turns.
    pub turn_headers: TurnHeaders,
    /// Its agents, skills and hooks.
    pub definitions: SessionDefinitions,
}

/// Which agents, skills and hooks a session has.
#[derive(Debug, Clone, Default)]
pub enum SessionDefinitions {
    /// Those of the files that apply, those of its options, and the built-in ones.
    #[default]
    All,
    /// These agents and the built-in ones.
    Agents(Vec<AgentSpec>),
}

/// The settings of a session, and what the user should know about them.
#[derive(Debug)]
pub struct AssembledSettings {
    /// The settings.
    pub settings: SessionSettings,
    /// The notices, in the order to show them.
    pub notices: Vec<StartNotice>,
}

impl<'a> SessionRequest<'a> {
    /// A request without a client's provider, with all definitions that apply.
    pub fn new(options: &'a SessionOptions, resumed: Option<&'a SessionView>) -> SessionRequest<'a> {
        SessionRequest {
            options,
            resumed,
            client_provider: None,
            named_providers: BTreeMap::new(),
            client_name: None,
            carrier: None,
            turn_headers: TurnHeaders::default(),
            definitions: SessionDefinitions::All,
        }
    }

    /// The folder of the session, as an absolute path.
    fn folder(&self) -> Result<PathBuf, Refusal> {
        working_folder(self.options.cwd.as_deref().or(self.resumed.map(|resumed| Path::new(&resumed.cwd))))
    }
}

impl SettingsSources<'_> {
    /// Assembles the settings of a session.
    pub fn assemble(&self, request: SessionRequest<'_>) -> Result<AssembledSettings, AssembleError> {
        let cwd = request.folder()?;
        let SessionRequest {
            options,
            resumed,
            client_provider,
            named_providers,
            client_name,
            carrier,
            turn_headers,
            definitions,
        } = request;
        let options = &*with_client_model(options, client_provider.as_ref(), &named_providers, resumed)?;
        let layers = self.layers(options, resumed, &cwd)?;
        let mut config = layers.config();
        let mut access = config.access(self.env).map_err(Refusal::new)?;
        if let Some(provider) = client_provider {
            access.add_provider(ClientProvider::NAME, "baseUrl", provider.provider).map_err(Refusal::new)?;
        }
        for (name, provider) in named_providers {
            let place = format!("the baseUrl of the provider {name}");
            access.add_provider(&name, &place, provider).map_err(Refusal::new)?;
        }
        if let Some(name) = client_name {
            access.set_user_agent(&name);
        }
        access.providers.carrier = carrier;
        access.providers.turn_headers = turn_headers;
        let added = self.added_folders(&layers)?;
        let catalog = match definitions {
            SessionDefinitions::All => self.load_catalog(&layers, options)?,
            SessionDefinitions::Agents(agents) => LoadedCatalog::of_agents(agents),
        };
        let mut policy = self.policy_of(&layers, &catalog, &cwd, &added.paths)?;
        policy.asks_reads = options.ask_reads;
        catalog.require_no_problems(options.strict)?;
        let mcp_servers = layers.mcp_servers(options, self.env, &cwd, &catalog.listing)?;
        let models = ConfiguredModelSet::new(&access.providers, &cwd, &config.agents);
        let main_agent = main_agent(options, &catalog, &models, &mut config)?;
        let default_model = models::apply_default_model(&mut config, &access);
        let (model, model_spec) = models::open_model(&config, options, &cwd, &access)?;
        models::expect_known_price(&*model, &model_spec, &config, (options, resumed))?;
        let notices = added
            .notices
            .into_iter()
            .chain(notice::warnings(&layers))
            .chain(catalog.start_notices(&config.agents))
            .chain(mcp_servers.notices().map(StartNotice::problem))
            .chain(notice::unused_settings(&layers, &access, self.env))
            .chain(default_model)
            .chain(notice::unknown_tools(options, &mcp_servers))
            .collect();
        let definer = SessionServerDefiner { layers: layers.clone(), env: self.env.clone(), cwd: cwd.clone() };
        let servers = McpServersConfig {
            definer: Some(Arc::new(definer)),
            tasks: if config.mcp_tasks { McpTaskSupport::Offered } else { McpTaskSupport::Off },
            ..mcp_servers.config(&access.program_env, self.env.network_route(), &cwd, self.home)
        };
        let skill_source = SessionSkillSource {
            home: self.home.clone(),
            env: self.env.clone(),
            layers: layers.clone(),
            options: SessionSkillSource::used_options(options),
        };
        let SessionOptions {
            // The process that opens the session sends it.
            prompt: _,
            mode,
            plan_exit,
            ask_user,
            ask_wait_seconds,
            timeout_seconds,
            // The files they name, their definitions and their settings are read above.
            cwd: _,
            agent: _,
            agents: _,
            agents_source: _,
            plugin_dirs: _,
            skill_dirs: _,
            disabled_skills,
            strict: _,
            record: _,
            settings: _,
            setting_sources: _,
            untrusted_definitions: _,
            model: _,
            effort: _,
            permission: _,
            allow: _,
            ask: _,
            deny: _,
            add_dirs: _,
            max_turns: _,
            max_budget_usd: _,
            max_tokens: _,
            max_agents: _,
            max_depth: _,
            max_total_agents: _,
            max_continues: _,
            list: _,
            mcp_servers: _,
            mcp_sources: _,
            only_these_mcp_servers: _,
            disabled_mcp_servers: _,
            ask_outside_workspace,
            ask_reads: _,
        } = options;
        let settings = SessionSettings {
            home: self.home.clone(),
            cwd,
            added_folders: added.paths,
            outside_files: if *ask_outside_workspace { OutsideFiles::Asked } else { OutsideFiles::Refused },
            instruction_scopes: session_options::scopes(options).to_vec(),
            model,
            model_spec,
            cost_guard: models::cost_guard(&config.agents),
            catalog: Arc::new(catalog.catalog(&models)),
            disabled_skills: disabled_skills.iter().cloned().collect(),
            skill_source: Some(Arc::new(skill_source)),
            models: Arc::new(models.for_session(options)),
            main_agent,
            fleet_runner: Some(Arc::new(FleetEngine)),
            client_extensions: ClientExtensions::default(),
            tool_catalog: Some(Arc::new(McpServers::new(servers))),
            id: None,
            features: features(&config, &layers),
            policy,
            rules: layers.session_rules(),
            mode: *mode,
            default_plan_action: plan_exit.unwrap_or(PlanAction::ExitOnly),
            ask_user: ask_user.unwrap_or(true) && resumed.is_none_or(|resumed| resumed.ask_user),
            day_budget: config.day_budget,
            ask_wait: ask_wait_seconds.map(|time| time.0),
            call_background_after: config.call_background_after,
            watchdog: WatchdogSettings {
                stall_after: config.stall_after,
                abort_after: config.abort_after,
                ..WatchdogSettings::default()
            },
            list: config.list.clone(),
            max_turns: config.max_turns,
            budget: config.budget,
            timeout: timeout_seconds.map(|time| time.0),
            effort: config.effort,
            tools: tools::ToolLimits { command_memory_bytes: config.command_memory, ..tools::ToolLimits::default() },
            spools: Arc::new(Spools::new(spool_limits(&config), Arc::new(SystemDisk))),
            limits: config.limits,
            secrets: access.secrets.into_iter().chain(mcp_servers.secrets(self.home)).collect(),
            route: self.env.network_route(),
            // Not the path of the program: it may hold another version by the time the guardian starts.
            guardian: PathBuf::from("/proc/self/exe"),
            env: access.program_env,
            clock: Arc::new(SystemClock),
            ids: Arc::new(TimeIds),
            probe: Arc::new(NoWriterProbe),
        };
        Ok(AssembledSettings { settings, notices })
    }

    /// Fails if a session with these options would have no model. The file of its agent may name one, so a session with
    /// an agent is not checked.
    pub fn require_model(&self, options: &SessionOptions, resumed: Option<&SessionView>) -> Result<(), AssembleError> {
        if options.agent.is_some() {
            return Ok(());
        }
        let cwd = SessionRequest::new(options, resumed).folder()?;
        let mut config = self.layers(options, resumed, &cwd)?.config();
        let access = config.access(self.env).map_err(Refusal::new)?;
        let _shown_when_the_session_starts = models::apply_default_model(&mut config, &access);
        models::chosen_model(&config).map(|_spec| ())
    }

    /// The model access that a session with these options would have.
    pub fn access(&self, options: &SessionOptions) -> Result<ModelAccess, Refusal> {
        let cwd = working_folder(options.cwd.as_deref())?;
        self.layers(options, None, &cwd)?.config().access(self.env).map_err(Refusal::new)
    }
}

/// The options with the model of the client's own provider, if it has one.
fn with_client_model<'a>(
    options: &'a SessionOptions,
    provider: Option<&ClientProvider>,
    named: &BTreeMap<String, Provider>,
    resumed: Option<&SessionView>,
) -> Result<Cow<'a, SessionOptions>, Refusal> {
    let Some(provider) = provider else { return Ok(Cow::Borrowed(options)) };
    let model = Some(models::client_model(provider, named, options.model.as_deref(), resumed)?);
    Ok(Cow::Owned(SessionOptions { model, ..options.clone() }))
}

/// The root's agent. Its file overrides the settings, and options override its file.
fn main_agent(
    options: &SessionOptions,
    catalog: &LoadedCatalog,
    models: &ConfiguredModelSet,
    config: &mut Config,
) -> Result<Option<AgentSpec>, Refusal> {
    let Some(name) = options.agent.as_deref() else { return Ok(None) };
    let mut main = catalog.main_agent(name, models)?;
    if options.model.is_some() {
        main.models.clear();
    } else if !main.models.is_empty() {
        config.model = Some(models.first_available(&main.models)?);
    }
    Ok(Some(main))
}

fn features(config: &Config, layers: &SettingsLayers) -> SessionFeatures {
    SessionFeatures {
        multi_turn: config.multi_turn,
        prompt_suggestions: config.prompt_suggestions,
        session_titles: config.session_titles,
        parallelism_prompts: config.parallelism_prompts,
        inline_shell: layers.forbidden_by(ForbiddableFeature::SkillShell).is_none(),
    }
}

/// The disk limits for command output.
fn spool_limits(config: &Config) -> SpoolLimits {
    let Config { command_bytes, session_bytes, min_free_bytes, .. } = config;
    SpoolLimits { command: *command_bytes, session: *session_bytes, min_free: *min_free_bytes }
}
