//! The models that agents may be run with, from providers that are configured.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use config::{Access, AgentConfig, Config, DefaultModel, TooDear};
use model::{Model, Providers};
use protocol::Taste;
use runtime::{CostGuard, Models, Unpriced};

use crate::failure::Failure;

/// The models of the configured providers.
#[derive(Debug)]
pub(super) struct Known {
    providers: Providers,
    cwd: PathBuf,
    small: Option<String>,
    other: Option<String>,
}

impl Known {
    pub(super) fn new(providers: &Providers, cwd: &Path, agents: &AgentConfig) -> Known {
        let AgentConfig { small_model, other_model, .. } = agents;
        Known {
            providers: providers.clone(),
            cwd: cwd.to_owned(),
            small: small_model.clone(),
            other: other_model.clone(),
        }
    }

    /// Whether a model that a file names can be asked; says why it cannot.
    pub(super) fn can_ask(&self, spec: &str) -> Result<(), String> {
        if spec == "inherit" { Ok(()) } else { self.open(spec).map(|_model| ()) }
    }

    /// The first of these that can be asked.
    pub(super) fn first(&self, wanted: &[String]) -> Result<String, Failure> {
        let mut problems = Vec::new();
        for spec in wanted {
            match self.open(spec) {
                Ok(_model) => return Ok(spec.clone()),
                Err(why) => problems.push(format!("{spec}: {why}")),
            }
        }
        let message = format!("no model that the agent wants can be asked ({})", problems.join("; "));
        Err(super::refused(message).hint("name one with --model; `bosun models` lists what there is"))
    }
}

impl Models for Known {
    fn open(&self, spec: &str) -> Result<Arc<dyn Model>, String> {
        model::open(spec, &self.cwd, &self.providers).map_err(|error| error.to_string())
    }

    fn in_full(&self, spec: &str) -> String {
        self.providers.in_full(spec, &self.cwd)
    }

    fn may_have(&self, spec: &str) -> bool {
        self.providers.may_have(spec)
    }

    fn available(&self) -> Vec<String> {
        self.providers.available()
    }

    fn liked(&self, taste: Taste) -> Option<String> {
        match taste {
            Taste::Same => None,
            Taste::Small => self.small.clone(),
            Taste::Other => self.other.clone(),
        }
    }
}

/// Chooses the default model where no other is chosen; tells which, and why.
pub(super) fn by_default(config: &mut Config, access: &Access) -> Option<String> {
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

/// How much dearer an agent's model may be, in the runtime's words.
pub(super) fn guard(agents: &AgentConfig) -> CostGuard {
    CostGuard {
        percent: Some((agents.cost_factor * 100.0).round() as u32),
        otherwise: match agents.too_dear {
            TooDear::Refuse => runtime::TooDear::Refuse,
            TooDear::Downgrade => runtime::TooDear::Downgrade,
        },
        unpriced: if agents.allow_unpriced { Unpriced::Allowed } else { Unpriced::TooDear },
    }
}
