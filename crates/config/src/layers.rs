//! The layers of settings for a folder, and the settings that result.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use policy::{Rule, RuleError};
use protocol::{PermissionMode, RuleEffect, RuleText};

use crate::config::Config;
use crate::env::Env;
use crate::file::{
    AgentSettings, BudgetSettings, EnvironmentSettings, ForbiddableFeature, PermissionSettings, SettingsFile,
};
use crate::hooks_path;
use crate::notice::SettingsNotice;
use crate::origin::SettingOrigin;
use crate::project::Project;
use crate::read::ConfigError;
use crate::trust::TrustStatus;
use crate::values::{SettingValue, flatten};

/// The layers of settings for a folder.
#[derive(Debug, Clone)]
pub struct SettingsLayers {
    /// Strongest first.
    pub(crate) layers: Vec<SettingsLayer>,
    /// The project.
    pub project: Project,
    /// Whether the user trusts it.
    pub trust: TrustStatus,
    /// The keys of the project's file that are ignored, since it is not trusted.
    pub ignored: Vec<String>,
    /// Whether the project's files are read at all.
    pub(crate) reads_project_files: bool,
    /// Notices for the user.
    pub notices: Vec<SettingsNotice>,
}

/// One layer.
#[derive(Debug, Clone, PartialEq)]
pub struct SettingsLayer {
    /// Its origin.
    pub origin: SettingOrigin,
    /// Its settings.
    pub file: SettingsFile,
}

impl SettingsLayers {
    /// Adds a layer at its rank.
    pub fn add(&mut self, mut layer: SettingsLayer) -> Result<(), ConfigError> {
        self.drop_forbidden_settings(&mut layer);
        let SettingsLayer { origin, file } = &layer;
        match (origin, &file.managed) {
            (SettingOrigin::Managed(_), _) | (_, None) => {}
            (_, Some(_)) => return Err(ConfigError::NotManaged { origin: origin.to_string() }),
        }
        self.insert(layer);
        Ok(())
    }

    /// Removes settings that a layer may not make, and warns about unsupported features.
    fn drop_forbidden_settings(&mut self, SettingsLayer { origin, file }: &mut SettingsLayer) {
        let path = origin.file().map_or_else(|| PathBuf::from(origin.to_string()), Path::to_owned);
        let is_own = matches!(origin, SettingOrigin::Managed(_) | SettingOrigin::User(_));
        let named = |agents: &mut AgentSettings| (agents.catalog.take(), agents.catalog_token_env.take());
        if !is_own && named(&mut file.agents) != (None, None) {
            // A project could send the user's token anywhere.
            let text = "agents.catalog is ignored: only your own config.toml and managed settings may name a catalogue";
            self.notices.push(SettingsNotice::warning(&path, text.into()));
        }
        let unsupported = file.features.enabled_but_unsupported();
        if !unsupported.is_empty() {
            let text = format!("{} is not supported in this version and has no effect", unsupported.join(", "));
            self.notices.push(SettingsNotice::warning(&path, text));
        }
    }

    /// Adds the settings in environment variables.
    pub fn add_environment(&mut self, env: &Env) -> Result<(), ConfigError> {
        env.layers()?.into_iter().try_for_each(|layer| self.add(layer))
    }

    /// Adds the settings that a session started with. The session keeps its own budget: the budgets of weaker layers are
    /// for new sessions.
    pub fn add_session(&mut self, file: SettingsFile) {
        let session = SettingOrigin::Session;
        for weaker in self.layers.iter_mut().filter(|layer| layer.origin.rank() > session.rank()) {
            weaker.file.budget = BudgetSettings { day_usd: weaker.file.budget.day_usd, ..BudgetSettings::default() };
        }
        self.insert(SettingsLayer { origin: session, file });
    }

    /// The resolved settings of all layers.
    pub fn config(&self) -> Config {
        let files = self.layers.iter().map(|layer| layer.file.clone());
        let mut config = files.reduce(SettingsFile::over).unwrap_or_default().resolve();
        let stated = self.layers.iter().map(|layer| &layer.file.environment);
        config.environment = stated.filter(|stated| **stated != EnvironmentSettings::default()).cloned().collect();
        config.pinned_providers = self.pinned_providers();
        config
    }

    /// The providers whose address is set by a layer stronger than the environment.
    fn pinned_providers(&self) -> BTreeSet<String> {
        let above = self.layers.iter().filter(|layer| layer.origin.is_above_environment());
        let providers = above.flat_map(|layer| &layer.file.providers);
        providers.filter(|(_, provider)| provider.base_url.is_some()).map(|(name, _)| name.clone()).collect()
    }

    /// Every rule, strongest first.
    pub fn rules(&self) -> Result<Vec<Rule>, RuleError> {
        let all =
            self.layers.iter().flat_map(|layer| rules_of(&layer.file).map(|rule| (rule, layer.origin.rule_source())));
        let all = all.map(|((effect, text), source)| Rule::parse(effect, text, source));
        hooks_path::hook_folder_rules(&self.project.dir).into_iter().map(Ok).chain(all).collect()
    }

    /// The rules to store with the session: its own, and those of the command line.
    pub fn session_rules(&self) -> Vec<RuleText> {
        let mut rules = Vec::new();
        for layer in self.layers.iter().rev().filter(|layer| layer.origin.is_stored_with_session()) {
            for (effect, text) in rules_of(&layer.file) {
                let rule = RuleText { effect, rule: text.to_owned() };
                if !rules.contains(&rule) {
                    rules.push(rule);
                }
            }
        }
        rules
    }

    /// Additional workspace folders with their origins. In a file they are relative to the project's folder.
    pub fn added_folders(&self, user: Option<&Path>) -> Vec<(PathBuf, SettingOrigin)> {
        let full = |path: &Path| match (path.strip_prefix("~"), user) {
            (Ok(below), Some(user)) => user.join(below),
            (Ok(_), None) | (Err(_), _) => self.project.dir.join(path),
        };
        let named = |layer: &SettingsLayer| {
            let origin = layer.origin.clone();
            layer.file.workspace.add_dirs.iter().map(|path| (full(path), origin.clone())).collect::<Vec<_>>()
        };
        self.layers.iter().flat_map(named).collect()
    }

    /// The files that the layers were read from.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.layers.iter().filter_map(|layer| layer.origin.file())
    }

    /// Every effective setting, by key.
    pub fn values(&self) -> Vec<SettingValue> {
        let built_in = SettingsLayer { origin: SettingOrigin::BuiltIn, file: SettingsFile::built_in() };
        let mut values: Vec<SettingValue> = Vec::new();
        for SettingsLayer { origin, file } in self.layers.iter().chain([&built_in]) {
            for (key, value) in flatten(file) {
                let origin = origin.clone();
                match value {
                    serde_json::Value::Array(list) => {
                        values.extend(list.into_iter().map(|value| SettingValue {
                            key: key.clone(),
                            value,
                            origin: origin.clone(),
                        }));
                    }
                    _scalar if values.iter().any(|stronger| stronger.key == key) => {}
                    value => values.push(SettingValue { key, value, origin }),
                }
            }
        }
        values.sort_by(|a, b| a.key.cmp(&b.key));
        values
    }

    /// The managed file that forbids a feature, if any.
    pub fn forbidden_by(&self, feature: ForbiddableFeature) -> Option<&Path> {
        let forbids = |layer: &&SettingsLayer| {
            layer.file.managed.as_ref().is_some_and(|managed| managed.forbid.contains(&feature))
        };
        self.layers.iter().find(forbids).and_then(|layer| layer.origin.file())
    }

    /// Fails if a layer sets a mode that a managed file forbids. A session's own mode is ignored if a stronger layer
    /// sets another; otherwise the session could never be resumed.
    pub fn check_mode(&self) -> Result<(), ConfigError> {
        let Some(managed_file) = self.forbidden_by(ForbiddableFeature::AllowAll) else { return Ok(()) };
        let modes = self.layers.iter().filter_map(|layer| layer.file.permissions.mode.map(|mode| (layer, mode.0)));
        let allows_all = |(index, (layer, mode)): &(usize, (&SettingsLayer, PermissionMode))| {
            *mode == PermissionMode::AllowAll && (*index == 0 || layer.origin != SettingOrigin::Session)
        };
        match modes.enumerate().find(allows_all).map(|(_, (layer, _))| layer) {
            None => Ok(()),
            Some(layer) => {
                Err(ConfigError::Forbidden { by: managed_file.to_owned(), origin: layer.origin.to_string() })
            }
        }
    }

    /// Inserts a layer below those of the same rank and above the weaker ones.
    pub(crate) fn insert(&mut self, layer: SettingsLayer) {
        let place = self.layers.partition_point(|other| other.origin.rank() <= layer.origin.rank());
        self.layers.insert(place, layer);
    }
}

/// The rules of a file.
fn rules_of(file: &SettingsFile) -> impl Iterator<Item = (RuleEffect, &str)> {
    let PermissionSettings { mode: _, allow, ask, deny } = &file.permissions;
    let lists = [(RuleEffect::Deny, deny), (RuleEffect::Ask, ask), (RuleEffect::Allow, allow)];
    lists.into_iter().flat_map(|(effect, rules)| rules.iter().map(move |rule| (effect, rule.text())))
}
