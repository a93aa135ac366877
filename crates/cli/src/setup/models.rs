//! The models that agents may be run with, from providers that are configured.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use config::{AgentConfig, Config, DefaultModel, ExpensiveModelSetting, ModelAccess};
use model::{Model, Providers};
use protocol::ModelPreference;
use runtime::{CostGuard, ModelResolver, UnpricedModelPolicy};

use crate::error::CliError;

/// The models of the configured providers.
#[derive(Debug)]
pub(super) struct ConfiguredModelSet {
    providers: Providers,
    cwd: PathBuf,
    small: Option<String>,
    other: Option<String>,
}

impl ConfiguredModelSet {
    pub(super) fn new(providers: &Providers, cwd: &Path, agents: &AgentConfig) -> ConfiguredModelSet {
        let AgentConfig { small_model, other_model, .. } = agents;
        ConfiguredModelSet {
            providers: providers.clone(),
            cwd: cwd.to_owned(),
            small: small_model.clone(),
            other: other_model.clone(),
        }
    }

    /// Whether a model that a file names can be asked; says why it cannot.
    pub(super) fn check_available(&self, spec: &str) -> Result<(), String> {
        if spec == "inherit" { Ok(()) } else { self.open(spec).map(|_model| ()) }
    }

    /// The first of these that can be asked.
    pub(super) fn first_available(&self, wanted: &[String]) -> Result<String, CliError> {
        let mut problems = Vec::new();
        for spec in wanted {
            match self.open(spec) {
                Ok(_model) => return Ok(spec.clone()),
                Err(why) => problems.push(format!("{spec}: {why}")),
            }
        }
        let message = format!("no model that the agent wants can be asked ({})", problems.join("; "));
        Err(super::settings_failure(message).with_hint("name one with --model; `bosun models` lists what there is"))
    }
}

impl ModelResolver for ConfiguredModelSet {
    fn open(&self, spec: &str) -> Result<Arc<dyn Model>, String> {
        model::open(spec, &self.cwd, &self.providers).map_err(|error| error.to_string())
    }

    fn full_name(&self, spec: &str) -> String {
        self.providers.full_name(spec, &self.cwd)
    }

    fn may_have(&self, spec: &str) -> bool {
        self.providers.may_exist(spec)
    }

    fn available(&self) -> Vec<String> {
        self.providers.available()
    }

    fn preferred(&self, taste: ModelPreference) -> Option<String> {
        match taste {
            ModelPreference::Same => None,
            ModelPreference::Small => self.small.clone(),
            ModelPreference::Other => self.other.clone(),
        }
    }
}

/// Chooses the default model where no other is chosen; tells which, and why.
pub(super) fn apply_default_model(config: &mut Config, access: &ModelAccess) -> Option<String> {
    if config.model.is_some() {
        return None;
    }
    let DefaultModel { spec, variable } = access.default_model()?;
    let words = format!(
        "the model is {spec}, since {variable} is set and no model is chosen; choose another with --model, \
         BOSUN_MODEL, or `model` in config.toml"
    );
    config.model = Some(spec);
    Some(words)
}

/// How much more expensive an agent's model may be, in the runtime's words.
pub(super) fn cost_guard(agents: &AgentConfig) -> CostGuard {
    CostGuard {
        percent: Some((agents.cost_factor * 100.0).round() as u32),
        action: match agents.expensive_model {
            ExpensiveModelSetting::Refuse => runtime::ExpensiveModelAction::Refuse,
            ExpensiveModelSetting::Downgrade => runtime::ExpensiveModelAction::Downgrade,
        },
        unpriced: if agents.allow_unpriced { UnpricedModelPolicy::Allowed } else { UnpricedModelPolicy::TooExpensive },
    }
}
