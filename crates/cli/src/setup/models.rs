//! The models that agents can use, from the configured providers.

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

    /// Checks whether a model named in a file is available; the error says why not.
    pub(super) fn check_available(&self, spec: &str) -> Result<(), String> {
        if spec == "inherit" { Ok(()) } else { self.open(spec).map(|_model| ()) }
    }

    /// The first of these models that is available.
    pub(super) fn first_available(&self, specs: &[String]) -> Result<String, CliError> {
        let mut problems = Vec::new();
        for spec in specs {
            match self.open(spec) {
                Ok(_model) => return Ok(spec.clone()),
                Err(reason) => problems.push(format!("{spec}: {reason}")),
            }
        }
        let message = format!("none of the agent's models is available ({})", problems.join("; "));
        Err(super::settings_failure(message).with_hint("name one with --model; `bosun models` lists the models"))
    }
}

impl ModelResolver for ConfiguredModelSet {
    fn open(&self, spec: &str) -> Result<Arc<dyn Model>, String> {
        model::open(spec, &self.cwd, &self.providers).map_err(|error| error.to_string())
    }

    fn full_name(&self, spec: &str) -> String {
        self.providers.full_name(spec, &self.cwd)
    }

    fn may_exist(&self, spec: &str) -> bool {
        self.providers.may_exist(spec)
    }

    fn available(&self) -> Vec<String> {
        self.providers.available()
    }

    fn preferred(&self, preference: ModelPreference) -> Option<String> {
        match preference {
            ModelPreference::Same => None,
            ModelPreference::Small => self.small.clone(),
            ModelPreference::Other => self.other.clone(),
        }
    }
}

/// Sets the default model if none is chosen; returns a notice that says which and why.
pub(super) fn apply_default_model(config: &mut Config, access: &ModelAccess) -> Option<String> {
    if config.model.is_some() {
        return None;
    }
    let DefaultModel { spec, variable } = access.default_model()?;
    let notice = format!(
        "using the model {spec}, since {variable} is set and no model is chosen; choose another with --model, \
         BOSUN_MODEL, or `model` in config.toml"
    );
    config.model = Some(spec);
    Some(notice)
}

/// The limit on how much more expensive an agent's model may be.
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
