//! Turns a builder into session settings, with the same layers as on the command line except those of the project.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use config::{
    Config, ForbiddableFeature, Project, SettingOrigin, SettingsLayer, SettingsLayers, SettingsLocations, TrustStatus,
};
use host::{SystemClock, TimeIds};
use policy::Policy;
use protocol::{PlanAction, SettingsFileScope};
use runtime::{
    Catalog, CostGuard, SessionFeatures, SessionSettings, SpoolLimits, Spools, SystemDisk, WatchdogSettings,
};

use crate::Error;
use crate::builder::{AskPolicy, SessionBuilder};
use crate::models::ConfiguredModels;

impl SessionBuilder {
    pub(crate) fn settings(self) -> Result<SessionSettings, Error> {
        let cwd = self.folder()?;
        let layers = self.layers(&cwd)?;
        let config = layers.config();
        let access = config.access(&self.bosun.env)?;
        let spec = config.model.clone().or_else(|| access.default_model().map(|default| default.spec));
        let model_spec = access.providers.full_name(&spec.ok_or(Error::NoModel)?, &cwd);
        let model = model::open(&model_spec, &cwd, &access.providers)?;
        let price_missing = config.budget.micros.is_some() && model.facts().price.is_none();
        if price_missing || config.day_budget.is_some() && model.facts().is_price_missing() {
            return Err(Error::Unpriced(model_spec));
        }
        let policy = self.policy(&layers, &config, &cwd)?;
        let previous = self.previous.as_ref().map(|(view, _)| view);
        Ok(SessionSettings {
            home: self.bosun.home.clone(),
            added_folders: Vec::new(),
            model,
            model_spec,
            cost_guard: CostGuard::default(),
            catalog: Arc::new(Catalog {
                agents: self.agents.into_iter().chain(config::built_in_agents()).collect(),
                ..Catalog::default()
            }),
            models: Arc::new(ConfiguredModels { providers: access.providers, cwd: cwd.clone() }),
            cwd,
            main_agent: None,
            client_extensions: self.client_extensions,
            id: None,
            features: SessionFeatures {
                multi_turn: config.multi_turn,
                prompt_suggestions: config.prompt_suggestions,
                parallelism_prompts: config.parallelism_prompts,
                inline_shell: layers.forbidden_by(ForbiddableFeature::SkillShell).is_none(),
            },
            policy,
            rules: layers.session_rules(),
            mode: None,
            default_plan_action: PlanAction::ExitOnly,
            ask_user: self.ask_policy == AskPolicy::Wait && previous.is_none_or(|previous| previous.ask_user),
            ask_wait: match self.ask_policy {
                AskPolicy::Deny => Some(Duration::ZERO),
                AskPolicy::Wait => None,
            },
            watchdog: WatchdogSettings {
                stall_after: config.stall_after,
                abort_after: config.abort_after,
                ..WatchdogSettings::default()
            },
            list: config.list.clone(),
            max_turns: config.max_turns,
            budget: config.budget,
            day_budget: config.day_budget,
            timeout: None,
            effort: config.effort,
            secrets: access.secrets.into(),
            route: self.bosun.env.network_route(),
            tools: tools::ToolLimits::default(),
            spools: Arc::new(Spools::new(spool_limits(&config), Arc::new(SystemDisk))),
            limits: config.limits,
            guardian: self.guardian,
            env: access.program_env,
            clock: Arc::new(SystemClock),
            ids: Arc::new(TimeIds),
            probe: Arc::new(runtime::NoWriterProbe),
        })
    }

    /// The folder to work in, with symbolic links resolved.
    fn folder(&self) -> Result<PathBuf, Error> {
        let previous = self.previous.as_ref().map(|(view, _)| Path::new(&view.cwd));
        let folder = self.cwd.as_deref().or(previous).unwrap_or(Path::new("."));
        let unusable = |source| Error::Folder { folder: folder.display().to_string(), source };
        folder.canonicalize().map_err(unusable)
    }

    fn layers(&self, cwd: &Path) -> Result<SettingsLayers, Error> {
        let env = &self.bosun.env;
        let mut layers = SettingsLayers::read(&SettingsLocations {
            home: self.bosun.home.root(),
            user_home: env.user_home.as_deref(),
            managed: env.managed.as_deref(),
            project: Project::find(cwd),
            trust: TrustStatus::Untrusted,
            scopes: &[SettingsFileScope::User],
        })?;
        layers.add_environment(env)?;
        layers.add(SettingsLayer { origin: SettingOrigin::Flag, file: self.settings_layer()? })?;
        if let Some((_, file)) = &self.previous {
            layers.add_session(file.clone());
        }
        layers.check_mode()?;
        Ok(layers)
    }

    fn policy(&self, layers: &SettingsLayers, config: &Config, cwd: &Path) -> Result<Policy, Error> {
        let (home, top) = (self.bosun.home.root(), layers.project.dir.clone());
        let (rules, user) = (layers.rules()?, self.bosun.env.user_home.clone());
        let controls = config::all_controls(home, user.as_deref(), layers, &[&top, cwd]);
        Ok(Policy {
            mode: config.mode,
            rules,
            project_dir: top,
            work_folders: Vec::new(),
            user_home: user,
            control_paths: controls,
            exempt_folders: Vec::new(),
        })
    }
}

fn spool_limits(config: &Config) -> SpoolLimits {
    let Config { command_bytes, session_bytes, min_free_bytes, .. } = config;
    SpoolLimits { command: *command_bytes, session: *session_bytes, min_free: *min_free_bytes }
}
