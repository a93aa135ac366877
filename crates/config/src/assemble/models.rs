//! The models that a session and its agents can use, from the configured providers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use model::{ClientProvider, Model, Provider, Providers, RecordingModel};
use protocol::api::SessionView;
use protocol::{ModelPreference, Refusal, SessionOptions};
use runtime::{CostGuard, ExpensiveModelAction, ModelResolveError, ModelResolver, ModelSources, UnpricedModelPolicy};

use super::{AssembleError, StartNotice, StartNoticeKind};
use crate::agents::AgentConfig;
use crate::config::Config;
use crate::file::ExpensiveModelSetting;
use crate::provider::{DefaultModel, ModelAccess, checked_provider};

/// The models of the configured providers.
#[derive(Debug)]
pub(crate) struct ConfiguredModelSet {
    providers: Providers,
    cwd: PathBuf,
    small: Option<String>,
    other: Option<String>,
    /// Whether the session's model is recorded, in this process.
    is_recorded: bool,
}

impl ConfiguredModelSet {
    pub(crate) fn new(providers: &Providers, cwd: &Path, agents: &AgentConfig) -> ConfiguredModelSet {
        let AgentConfig { small_model, other_model, .. } = agents;
        ConfiguredModelSet {
            providers: providers.clone(),
            cwd: cwd.to_owned(),
            small: small_model.clone(),
            other: other_model.clone(),
            is_recorded: false,
        }
    }

    /// The models of a session with these options.
    pub(super) fn for_session(self, options: &SessionOptions) -> ConfiguredModelSet {
        ConfiguredModelSet { is_recorded: options.record.is_some(), ..self }
    }

    /// Checks whether a model named in a file is available; the error says why not.
    pub(crate) fn check_available(&self, spec: &str) -> Result<(), String> {
        if spec == "inherit" { Ok(()) } else { self.open(spec).map(drop).map_err(|error| error.to_string()) }
    }

    /// The first of these models that is available.
    pub(super) fn first_available(&self, specs: &[String]) -> Result<String, Refusal> {
        let mut problems = Vec::new();
        for spec in specs {
            match self.open(spec) {
                Ok(_model) => return Ok(spec.clone()),
                Err(reason) => problems.push(format!("{spec}: {reason}")),
            }
        }
        let message = format!("none of the agent's models is available ({})", problems.join("; "));
        Err(Refusal::new(message).with_hint("name one with --model; `bosun models` lists the models"))
    }
}

impl ModelResolver for ConfiguredModelSet {
    fn open(&self, spec: &str) -> Result<Arc<dyn Model>, ModelResolveError> {
        Ok(model::open(spec, &self.cwd, &self.providers)?)
    }

    fn open_joined(&self, spec: &str, name: &str, provider: Provider) -> Result<Arc<dyn Model>, ModelResolveError> {
        let place = format!("the baseUrl of the provider {name}");
        let mut provider =
            checked_provider(&place, provider).map_err(|error| ModelResolveError::Provider(error.to_string()))?;
        let mut providers = self.providers.clone();
        // All providers are called on behalf of the same program.
        let known = providers.by_name.values().find_map(|known| known.extra.user_agent.clone());
        provider.extra.user_agent = known;
        providers.by_name.insert(name.to_owned(), provider);
        Ok(model::open(spec, &self.cwd, &providers)?)
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

    fn sources(&self) -> Option<ModelSources> {
        let is_here = self.is_recorded || self.providers.needs_client();
        (!is_here).then(|| ModelSources { providers: self.providers.clone(), folder: self.cwd.clone() })
    }
}

/// Sets the default model if none is chosen; returns a notice that says which and why.
pub(super) fn apply_default_model(config: &mut Config, access: &ModelAccess) -> Option<StartNotice> {
    if config.model.is_some() {
        return None;
    }
    let DefaultModel { spec, variable } = access.default_model()?;
    let text = format!(
        "using the model {spec}, since {variable} is set and no model is chosen; choose another with --model, \
         BOSUN_MODEL, or `model` in config.toml"
    );
    config.model = Some(spec);
    Some(StartNotice { text, kind: StartNoticeKind::DefaultModel })
}

/// The model that the settings choose.
pub(super) fn chosen_model(config: &Config) -> Result<&str, AssembleError> {
    config.model.as_deref().ok_or(AssembleError::NoModel)
}

/// Opens the model; returns it with its full name.
pub(super) fn open_model(
    config: &Config,
    options: &SessionOptions,
    cwd: &Path,
    access: &ModelAccess,
) -> Result<(Arc<dyn Model>, String), AssembleError> {
    let spec = chosen_model(config)?;
    let model = model::open(spec, cwd, &access.providers)?;
    let spec = access.providers.full_name(spec, cwd);
    match &options.record {
        Some(file) => Ok((Arc::new(RecordingModel::open(model, file).map_err(Refusal::new)?), spec)),
        None => Ok((model, spec)),
    }
}

/// The model of a client's own providers, with the provider's prefix: the chosen one, that of the resumed session, or the
/// provider's default.
pub(super) fn client_model(
    provider: &ClientProvider,
    named: &BTreeMap<String, Provider>,
    chosen: Option<&str>,
    resumed: Option<&SessionView>,
) -> Result<String, Refusal> {
    let is_of_client = |provider: &str| provider == ClientProvider::NAME || named.contains_key(provider);
    let has_prefix = |spec: &&str| spec.split_once('/').is_some_and(|(provider, _)| is_of_client(provider));
    let previous = resumed.map(|resumed| resumed.model.as_str()).filter(has_prefix);
    let model = chosen.or(previous).or(provider.model.as_deref());
    let model = model.ok_or_else(|| Refusal::new("the client's provider has no model; name one as `model`"))?;
    Ok(if has_prefix(&model) { model.to_owned() } else { format!("{}/{model}", ClientProvider::NAME) })
}

/// Fails if a dollar budget applies but the price of the model is unknown.
pub(super) fn expect_known_price(
    model: &dyn Model,
    spec: &str,
    config: &Config,
    (options, resumed): (&SessionOptions, Option<&SessionView>),
) -> Result<(), AssembleError> {
    let remedy = if config.budget.micros.is_some() && model.facts().price.is_none() {
        budget_remedy(options, resumed)
    } else if config.day_budget.is_some() && model.facts().is_price_missing() {
        "remove `day-usd` from [budget] in config.toml"
    } else {
        return Ok(());
    };
    let hint = match spec.split_once('/') {
        Some((provider, name)) if !protocol::is_file_provider(provider) => format!(
            "{remedy}, or give its price in config.toml: [providers.{provider}.models.\"{name}\"] \
             with input and output, in dollars per million tokens"
        ),
        Some(_) | None => remedy.to_owned(),
    };
    Err(AssembleError::Unpriced { model: spec.to_owned(), hint })
}

/// How the user can remove the session's dollar budget, which no flag unsets.
fn budget_remedy(options: &SessionOptions, resumed: Option<&SessionView>) -> &'static str {
    match (options.max_budget_usd, resumed) {
        (Some(_), _) => "limit it with --max-tokens-total instead",
        (None, Some(_)) => "continue with a model that has a price",
        (None, None) => "remove `usd` from [budget] in config.toml",
    }
}

/// The limit on how much more expensive an agent's model may be.
pub(super) fn cost_guard(agents: &AgentConfig) -> CostGuard {
    CostGuard {
        percent: Some((agents.cost_factor * 100.0).round() as u32),
        action: match agents.expensive_model {
            ExpensiveModelSetting::Refuse => ExpensiveModelAction::Refuse,
            ExpensiveModelSetting::Downgrade => ExpensiveModelAction::Downgrade,
        },
        unpriced: if agents.allow_unpriced { UnpricedModelPolicy::Allowed } else { UnpricedModelPolicy::TooExpensive },
    }
}
