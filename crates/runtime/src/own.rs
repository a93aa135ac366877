//! The session's model: that of its own agent, and of every agent that wants no other. It may change while they work;
//! each is asked with the new one from its next turn on.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use kernel::Input;
use model::Model;
use protocol::{Kind, Origin, TaskId, TaskSpec};

use crate::agent::Desk;
use crate::supervisor::{Rejected, Supervisor};

/// The models that the session was given while it ran, by their names.
#[derive(Debug, Default)]
pub(crate) struct Given(Mutex<HashMap<String, Arc<dyn Model>>>);

/// Why the session stays with its model.
#[derive(Debug, thiserror::Error)]
pub enum Unchanged {
    /// The model cannot be asked.
    #[error("the model `{spec}` cannot be used: {why}; there are: {known}")]
    Unusable {
        /// The model.
        spec: String,
        /// Why.
        why: String,
        /// Those that can be asked.
        known: String,
    },
    /// Nobody knows what it costs.
    #[error("the price of {0} is not known, so no budget in dollars can be held; choose a model with a price")]
    Unpriced(String),
    /// The session did not take it.
    #[error(transparent)]
    Rejected(#[from] Rejected),
}

impl Desk {
    /// The session's model, as `--model` takes it.
    pub(crate) fn own_spec(&self) -> Arc<str> {
        self.roster.model().map_or_else(|| self.settings.model_spec.as_str().into(), |model| model.spec)
    }

    /// The session's model; says in words why it cannot be had.
    pub(crate) fn own_model(&self) -> Result<Arc<dyn Model>, String> {
        self.named(&self.own_spec())
    }

    /// The name of the model that a task's agent is asked with.
    pub(crate) fn model_name(&self, spec: &TaskSpec) -> Arc<str> {
        let chosen = spec.kind == Kind::Main && self.roster.model().is_some_and(|model| model.chosen);
        match &spec.model {
            Some(wanted) if !chosen && !wanted.is_sessions() => wanted.effective.as_str().into(),
            Some(_) | None => self.own_spec(),
        }
    }

    /// A model by its name.
    pub(crate) fn named(&self, spec: &str) -> Result<Arc<dyn Model>, String> {
        if spec == self.settings.model_spec {
            return Ok(Arc::clone(&self.settings.model));
        }
        let given = self.given.0.lock().unwrap_or_else(PoisonError::into_inner).get(spec).cloned();
        given.map_or_else(|| self.settings.models.open(spec), Ok)
    }

    /// Goes on with another model; tells its name in full.
    pub(crate) async fn change_model(
        &self,
        supervisor: &Supervisor,
        root: TaskId,
        wanted: &str,
    ) -> Result<String, Unchanged> {
        let spec = self.settings.models.in_full(wanted);
        let model = self.named(&spec).map_err(|why| {
            let (spec, known) = (protocol::Clip::new(wanted, 100).into_string(), self.models());
            Unchanged::Unusable { spec, why, known }
        })?;
        let budget = supervisor.look(move |kernel| kernel.task(root).map(|root| root.ledger.budget)).await?;
        let in_dollars = budget.is_some_and(|budget| budget.micros.is_some()) && model.facts().price.is_none();
        if in_dollars || self.settings.day_budget.is_some() && model.facts().is_price_missing() {
            return Err(Unchanged::Unpriced(spec));
        }
        // Whoever reads of it in the log must find it open.
        self.given.0.lock().unwrap_or_else(PoisonError::into_inner).insert(spec.clone(), model);
        supervisor.submit(Input::SetModel { model: spec.clone(), by: Origin::User }).await?;
        Ok(spec)
    }
}
