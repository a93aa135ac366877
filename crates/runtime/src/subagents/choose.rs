//! Chooses the definition and the model of a new agent.

use model::Model;
use protocol::{AgentSpec, Clip, ModelUse, Price};
use tools::ToolError;

use super::AgentSubagents;
use crate::models::{CostGuard, ExpensiveModelAction, UnpricedModelPolicy};
use crate::session_context::SessionContext;

impl AgentSubagents {
    /// The requested definition, if the calling agent may start it and its skills exist.
    pub(super) fn choose_definition(&self, name: &str) -> Result<&AgentSpec, ToolError> {
        let catalog = &self.context.catalog.definitions;
        let startable = || {
            let names: Vec<&str> =
                catalog.startable(&self.agent.definition.spawns).map(|agent| agent.name.as_str()).collect();
            names.join(", ")
        };
        let shown = Clip::new(name, 100);
        let Some(agent) = catalog.agent(name).filter(|agent| agent.model_invocable) else {
            return Err(ToolError::refused(format!("there is no agent type `{shown}`; there are: {}", startable())));
        };
        if !self.agent.definition.spawns.permits(&agent.name) {
            let own = &self.agent.definition.name;
            return Err(ToolError::refused(format!("a `{own}` agent may not start `{shown}`, only: {}", startable())));
        }
        if let Some(skill) = agent.skills.iter().find(|skill| catalog.skill(skill).is_none()) {
            let source = &agent.source;
            return Err(ToolError::refused(format!(
                "`{shown}` needs the skill `{skill}`, which does not exist (see {source})"
            )));
        }
        Ok(agent)
    }
}

impl SessionContext {
    /// Chooses the model of a new agent: the requested one, its definition's, its preference's, or the session's.
    pub(crate) fn model_for(&self, agent: &AgentSpec, wanted: Option<&str>) -> Result<ModelUse, ToolError> {
        let spec = self.session_model_spec();
        let session_model = || ModelUse { requested: None, effective: spec.to_string(), why: None };
        if let Some(wanted) = wanted {
            // Opening such a model would read a file without a permission check and report errors from its content.
            let is_file = wanted.split_once('/').is_some_and(|(provider, _)| protocol::is_file_provider(provider));
            if is_file && wanted != &*spec {
                let known = self.model_names();
                return Err(ToolError::refused(format!("a call may not name a file as its model; there are: {known}")));
            }
            return self.resolve_named_model(wanted);
        }
        let mut problems = Vec::new();
        for wanted in &agent.models {
            match self.resolve_model_use(wanted) {
                Ok(chosen) => return chosen,
                Err(why) => problems.push(format!("{wanted}: {why}")),
            }
        }
        if !problems.is_empty() {
            return Err(ToolError::refused(format!(
                "none of the models of `{}` can be used ({}); name one with `model`: {}",
                agent.name,
                problems.join("; "),
                self.model_names()
            )));
        }
        match self.catalog.models.preferred(agent.model_preference).filter(|preferred| **preferred != *spec) {
            // A preference is not a request: if its model cannot be used, the note says why.
            Some(preferred) => Ok(match self.resolve_model_use(&preferred) {
                Ok(Ok(chosen)) => chosen,
                Ok(Err(why)) => ModelUse { requested: Some(preferred), why: Some(why.to_string()), ..session_model() },
                Err(why) => ModelUse { requested: Some(preferred), why: Some(why), ..session_model() },
            }),
            None => Ok(session_model()),
        }
    }

    /// Resolves the model that a call or the user names for an agent.
    pub(super) fn resolve_named_model(&self, wanted: &str) -> Result<ModelUse, ToolError> {
        self.resolve_model_use(wanted).map_err(|why| {
            let (wanted, known) = (Clip::new(wanted, 100), self.model_names());
            ToolError::refused(format!("the model `{wanted}` cannot be used: {why}; there are: {known}"))
        })?
    }

    /// The names of the available models, as a list in one text.
    pub(crate) fn model_names(&self) -> String {
        let (mut names, session_model) = (self.catalog.models.available(), self.session_model_spec().to_string());
        if !names.contains(&session_model) {
            names.insert(0, session_model);
        }
        Clip::new(&names.join(", "), 2_000).into_string()
    }

    /// Opens a model; the outer error is why it is not available, the inner error that it is too expensive.
    fn resolve_model_use(&self, wanted: &str) -> Result<Result<ModelUse, ToolError>, String> {
        let (catalog, session_spec) = (&self.catalog, self.session_model_spec());
        let requested = Some(wanted.to_owned());
        let effective = catalog.models.full_name(wanted);
        if wanted == "inherit" || effective == *session_spec {
            return Ok(Ok(ModelUse { requested, effective: session_spec.to_string(), why: None }));
        }
        if !catalog.models.may_exist(&effective) {
            return Err("its provider has no such model".into());
        }
        let model = self.catalog.model_by_spec(&effective)?;
        if self.facts.day_budget.is_some() && model.facts().is_price_missing() {
            return Err("its price is unknown, so the daily budget cannot be enforced".into());
        }
        let Some(why) = self.why_too_expensive(&effective, &*model) else {
            return Ok(Ok(ModelUse { requested, effective, why: None }));
        };
        Ok(match catalog.cost_guard.action {
            ExpensiveModelAction::Refuse => {
                Err(ToolError::refused(format!("{why}; leave `model` out, or choose a cheaper one")))
            }
            ExpensiveModelAction::Downgrade => {
                Ok(ModelUse { requested, effective: session_spec.to_string(), why: Some(why) })
            }
        })
    }

    /// Why a model is too expensive compared to the session's, if it is.
    fn why_too_expensive(&self, spec: &str, model: &dyn Model) -> Option<String> {
        let CostGuard { percent, unpriced, .. } = self.catalog.cost_guard;
        let cap = percent?;
        let price = model.facts().price;
        if price.map_or(!model.facts().is_price_missing(), Price::is_free) {
            return None;
        }
        let own = self.session_model().ok().and_then(|own| own.facts().price);
        // No price can be compared with one that costs nothing.
        match (own.filter(|own| !own.is_free()).map(blended_price), price.map(blended_price)) {
            (Some(own), Some(wanted)) => {
                let percent = wanted.saturating_mul(100).div_ceil(own.max(1));
                let expensive = percent > u64::from(cap);
                expensive.then(|| {
                    format!("{spec} costs {percent} % of the session's model, but agents may cost at most {cap} %")
                })
            }
            (Some(_) | None, Some(_) | None) if unpriced == UnpricedModelPolicy::Allowed => None,
            (Some(_) | None, None) => Some(format!("the price of {spec} is unknown, so it counts as too expensive")),
            (None, Some(_)) => {
                let why = if own.is_some() { "costs nothing" } else { "has an unknown price" };
                let own = self.session_model_spec();
                Some(format!("the session's model {own} {why}, so {spec} counts as too expensive"))
            }
        }
    }
}

/// Combines a price into one number. Input counts three times, because a turn reads more than it writes.
fn blended_price(price: Price) -> u64 {
    price.input.saturating_mul(3).saturating_add(price.output)
}
