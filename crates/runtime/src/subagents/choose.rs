//! Chooses the definition and the model of a new agent.

use std::sync::Arc;

use model::Model;
use protocol::{AgentSpec, Clip, DefinitionSource, Hinted, ModelUse, Price};

use super::AgentSubagents;
use crate::expectations::UnusableExpectation;
use crate::models::{CostGuard, ExpensiveModelAction, ModelResolveError, UnpricedModelPolicy};
use crate::session_context::SessionContext;

/// Why an agent cannot have a definition or a model.
#[derive(Debug, thiserror::Error)]
pub enum AgentChoiceError {
    /// There is no definition of this name for a model.
    #[error("there is no agent type `{shown}`")]
    UnknownType {
        /// The name.
        shown: Clip,
        /// The names that there are.
        known: String,
    },
    /// There is no definition of this name for the user.
    #[error("there is no agent `{shown}`")]
    UnknownAgent {
        /// The name.
        shown: Clip,
        /// The names that there are.
        known: String,
    },
    /// The calling agent may not start it.
    #[error("a `{own}` agent may not start `{shown}`, only: {startable}")]
    NotPermitted {
        /// The calling agent.
        own: String,
        /// The requested one.
        shown: Clip,
        /// What it may start.
        startable: String,
    },
    /// It needs a skill that does not exist.
    #[error("`{shown}` needs the skill `{skill}`, which does not exist (see {place})")]
    NoSkill {
        /// The agent.
        shown: Clip,
        /// The skill.
        skill: String,
        /// Where the agent is defined.
        place: DefinitionSource,
    },
    /// A call names a file as a model. Opening it would read a file without a permission check and report errors from
    /// its content.
    #[error("a call may not name a file as its model")]
    FileAsModel {
        /// The usable models.
        known: String,
    },
    /// None of its definition's models can be used.
    #[error("none of the models of `{agent}` can be used ({problems})")]
    NoUsableModel {
        /// The agent.
        agent: String,
        /// Each model, with the reason.
        problems: String,
        /// The usable models.
        known: String,
    },
    /// The requested model cannot be used.
    #[error("the model `{wanted}` cannot be used: {source}")]
    Model {
        /// The model.
        wanted: Clip,
        /// Why.
        source: ModelUseError,
        /// The usable models.
        known: String,
    },
    /// A model is too expensive.
    #[error(transparent)]
    TooExpensive(ExpensiveModel),
    /// Its expectations can never be checked.
    #[error("`expects` cannot be used: {0}")]
    Expectations(#[from] UnusableExpectation),
}

impl Hinted for AgentChoiceError {
    fn hint(&self) -> Option<String> {
        match self {
            AgentChoiceError::UnknownType { known, .. }
            | AgentChoiceError::UnknownAgent { known, .. }
            | AgentChoiceError::FileAsModel { known }
            | AgentChoiceError::Model { known, .. } => Some(format!("available: {known}")),
            AgentChoiceError::NoUsableModel { known, .. } => Some(format!("name one with `model`: {known}")),
            AgentChoiceError::TooExpensive(_) => Some("leave `model` out, or choose a cheaper one".into()),
            AgentChoiceError::Expectations(error) => error.hint(),
            AgentChoiceError::NotPermitted { .. } | AgentChoiceError::NoSkill { .. } => None,
        }
    }
}

/// Why an agent cannot use a model.
#[derive(Debug, thiserror::Error)]
pub enum ModelUseError {
    /// No list of its provider's models has it.
    #[error("its provider has no such model")]
    NoSuchModel,
    /// Its price is unknown, and there is a daily budget.
    #[error("its price is unknown, so the daily budget cannot be enforced")]
    Unpriced,
    /// It is not available.
    #[error(transparent)]
    Resolve(#[from] ModelResolveError),
    /// It is too expensive.
    #[error(transparent)]
    TooExpensive(ExpensiveModel),
}

/// How a model is too expensive compared to the session's.
#[derive(Debug, thiserror::Error)]
pub enum ExpensiveModel {
    /// Its price is above the limit.
    #[error("{spec} costs {percent} % of the session's model, but agents may cost at most {cap} %")]
    OverLimit {
        /// The model.
        spec: String,
        /// Its price in percent of the session's model.
        percent: u64,
        /// The limit.
        cap: u32,
    },
    /// Its price is unknown.
    #[error("the price of {spec} is unknown, so it counts as too expensive")]
    UnknownPrice {
        /// The model.
        spec: String,
    },
    /// The session's model costs nothing.
    #[error("the session's model {own} costs nothing, so {spec} counts as too expensive")]
    SessionModelFree {
        /// The session's model.
        own: Arc<str>,
        /// The model.
        spec: String,
    },
    /// The price of the session's model is unknown.
    #[error("the session's model {own} has an unknown price, so {spec} counts as too expensive")]
    SessionModelUnpriced {
        /// The session's model.
        own: Arc<str>,
        /// The model.
        spec: String,
    },
}

impl AgentSubagents {
    /// The requested definition, if the calling agent may start it and its skills exist.
    pub(super) fn choose_definition(&self, name: &str) -> Result<&AgentSpec, AgentChoiceError> {
        let catalog = &self.context.catalog.definitions;
        let startable = || {
            let names: Vec<&str> =
                catalog.startable(&self.agent.definition.spawns).map(|agent| agent.name.as_str()).collect();
            names.join(", ")
        };
        let shown = Clip::new(name, 100);
        let overrides = &self.context.catalog.client_extensions.agent_overrides;
        let is_usable = |agent: &&AgentSpec| agent.model_invocable && !overrides.is_disabled(&agent.name);
        let Some(agent) = catalog.agent(name).filter(is_usable) else {
            return Err(AgentChoiceError::UnknownType { shown, known: startable() });
        };
        if !self.agent.definition.spawns.permits(&agent.name) {
            let own = self.agent.definition.name.clone();
            return Err(AgentChoiceError::NotPermitted { own, shown, startable: startable() });
        }
        if let Some(skill) = agent.skills.iter().find(|skill| !self.context.catalog.skills.has(skill)) {
            let (skill, place) = (skill.clone(), agent.source.clone());
            return Err(AgentChoiceError::NoSkill { shown, skill, place });
        }
        Ok(agent)
    }
}

impl SessionContext {
    /// Chooses the model of a new agent: the requested one, its definition's, its preference's, or the session's.
    pub(crate) fn model_for(&self, agent: &AgentSpec, wanted: Option<&str>) -> Result<ModelUse, AgentChoiceError> {
        let spec = self.session_model_spec();
        let session_model = || ModelUse { requested: None, effective: spec.to_string(), why: None };
        if let Some(wanted) = wanted {
            let is_file = wanted.split_once('/').is_some_and(|(provider, _)| protocol::is_file_provider(provider));
            if is_file && wanted != &*spec {
                return Err(AgentChoiceError::FileAsModel { known: self.model_names() });
            }
            return self.resolve_named_model(wanted);
        }
        if let Some(chosen) = self.catalog.client_extensions.agent_overrides.of(&agent.name).model {
            return self.resolve_named_model(&chosen);
        }
        let mut problems = Vec::new();
        for wanted in &agent.models {
            match self.resolve_model_use(wanted) {
                Ok(chosen) => return Ok(chosen),
                Err(ModelUseError::TooExpensive(why)) => return Err(AgentChoiceError::TooExpensive(why)),
                Err(why) => problems.push(format!("{wanted}: {why}")),
            }
        }
        if !problems.is_empty() {
            let (agent, problems) = (agent.name.clone(), problems.join("; "));
            return Err(AgentChoiceError::NoUsableModel { agent, problems, known: self.model_names() });
        }
        match self.catalog.models.preferred(agent.model_preference).filter(|preferred| **preferred != *spec) {
            // A preference is not a request: if its model cannot be used, the note says why.
            Some(preferred) => Ok(match self.resolve_model_use(&preferred) {
                Ok(chosen) => chosen,
                Err(why) => ModelUse { requested: Some(preferred), why: Some(why.to_string()), ..session_model() },
            }),
            None => Ok(session_model()),
        }
    }

    /// Resolves the model that a call or the user names for an agent.
    pub(super) fn resolve_named_model(&self, wanted: &str) -> Result<ModelUse, AgentChoiceError> {
        self.resolve_model_use(wanted).map_err(|why| match why {
            ModelUseError::TooExpensive(why) => AgentChoiceError::TooExpensive(why),
            source @ (ModelUseError::NoSuchModel | ModelUseError::Unpriced | ModelUseError::Resolve(_)) => {
                AgentChoiceError::Model { wanted: Clip::new(wanted, 100), source, known: self.model_names() }
            }
        })
    }

    /// The names of the available models, as a list in one text.
    pub(crate) fn model_names(&self) -> String {
        let (mut names, session_model) = (self.catalog.models.available(), self.session_model_spec().to_string());
        if !names.contains(&session_model) {
            names.insert(0, session_model);
        }
        Clip::new(&names.join(", "), 2_000).into_string()
    }

    /// Opens a model, and compares its price with the session's model.
    fn resolve_model_use(&self, wanted: &str) -> Result<ModelUse, ModelUseError> {
        let (catalog, session_spec) = (&self.catalog, self.session_model_spec());
        let requested = Some(wanted.to_owned());
        let effective = catalog.models.full_name(wanted);
        if wanted == "inherit" || effective == *session_spec {
            return Ok(ModelUse { requested, effective: session_spec.to_string(), why: None });
        }
        if !catalog.models.may_exist(&effective) {
            return Err(ModelUseError::NoSuchModel);
        }
        let model = self.catalog.model_by_spec(&effective)?;
        if self.facts.day_budget.is_some() && model.facts().is_price_missing() {
            return Err(ModelUseError::Unpriced);
        }
        let Some(why) = self.why_too_expensive(&effective, &*model) else {
            return Ok(ModelUse { requested, effective, why: None });
        };
        match catalog.cost_guard.action {
            ExpensiveModelAction::Refuse => Err(ModelUseError::TooExpensive(why)),
            ExpensiveModelAction::Downgrade => {
                Ok(ModelUse { requested, effective: session_spec.to_string(), why: Some(why.to_string()) })
            }
        }
    }

    /// Why a model is too expensive compared to the session's, if it is.
    fn why_too_expensive(&self, spec: &str, model: &dyn Model) -> Option<ExpensiveModel> {
        let CostGuard { percent, unpriced, .. } = self.catalog.cost_guard;
        let cap = percent?;
        let price = model.facts().price;
        if price.map_or(!model.facts().is_price_missing(), Price::is_free) {
            return None;
        }
        let spec = || spec.to_owned();
        let own = self.session_model().ok().and_then(|own| own.facts().price);
        // No price can be compared with one that costs nothing.
        match (own.filter(|own| !own.is_free()).map(blended_price), price.map(blended_price)) {
            (Some(own), Some(wanted)) => {
                let percent = wanted.saturating_mul(100).div_ceil(own.max(1));
                let expensive = percent > u64::from(cap);
                expensive.then(|| ExpensiveModel::OverLimit { spec: spec(), percent, cap })
            }
            (Some(_) | None, Some(_) | None) if unpriced == UnpricedModelPolicy::Allowed => None,
            (Some(_) | None, None) => Some(ExpensiveModel::UnknownPrice { spec: spec() }),
            (None, Some(_)) => Some(match own {
                Some(_) => ExpensiveModel::SessionModelFree { own: self.session_model_spec(), spec: spec() },
                None => ExpensiveModel::SessionModelUnpriced { own: self.session_model_spec(), spec: spec() },
            }),
        }
    }
}

/// Combines a price into one number. Input counts three times, because a turn reads more than it writes.
fn blended_price(price: Price) -> u64 {
    price.input.saturating_mul(3).saturating_add(price.output)
}
