//! The session's model: that of the root, and of every agent that requests no other. It may change while agents work;
//! each agent uses the new model from its next turn on.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use kernel::KernelInput;
use model::Model;
use protocol::api::ModelParams;
use protocol::{Hinted, Principal, TaskId, TaskSpec};

use crate::models::ModelResolveError;
use crate::session_context::SessionContext;
use crate::supervisor::{InputRejection, Supervisor};

/// Models that were added while the session ran, by their names.
#[derive(Debug, Default)]
pub(crate) struct AddedModels(Mutex<HashMap<String, Arc<dyn Model>>>);

impl AddedModels {
    pub(crate) fn get(&self, spec: &str) -> Option<Arc<dyn Model>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(spec).cloned()
    }

    fn insert(&self, spec: String, model: Arc<dyn Model>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(spec, model);
    }
}

/// Why the session keeps its model.
#[derive(Debug, thiserror::Error)]
pub enum ModelChangeError {
    /// The model cannot be used.
    #[error("the model `{spec}` cannot be used: {source}")]
    Unusable {
        /// The model.
        spec: String,
        /// The reason.
        source: ModelResolveError,
        /// The usable models.
        known: String,
    },
    /// Its price is unknown.
    #[error("the price of {0} is unknown, so a budget in dollars cannot be enforced")]
    Unpriced(String),
    /// The session rejected the change.
    #[error(transparent)]
    Rejected(#[from] InputRejection),
}

impl Hinted for ModelChangeError {
    fn hint(&self) -> Option<String> {
        match self {
            ModelChangeError::Unusable { known, .. } => Some(format!("available: {known}")),
            ModelChangeError::Unpriced(_) => Some("choose a model with a price".into()),
            ModelChangeError::Rejected(_) => None,
        }
    }
}

impl SessionContext {
    /// The session's model, as `--model` takes it.
    pub(crate) fn session_model_spec(&self) -> Arc<str> {
        self.log.roster.model().map_or_else(|| self.catalog.model_spec.as_str().into(), |model| model.spec)
    }

    /// The session's model.
    pub(crate) fn session_model(&self) -> Result<Arc<dyn Model>, ModelResolveError> {
        self.catalog.model_by_spec(&self.session_model_spec())
    }

    /// The name of the model that a task's agent uses.
    pub(crate) fn task_model_spec(&self, spec: &TaskSpec) -> Arc<str> {
        let chosen = spec.kind.is_root() && self.log.roster.model().is_some_and(|model| model.chosen);
        match &spec.model {
            Some(wanted) if !chosen && !wanted.is_session_model() => wanted.effective.as_str().into(),
            Some(_) | None => self.session_model_spec(),
        }
    }

    /// Switches to another model; returns its full name.
    pub(crate) async fn change_model(
        &self,
        supervisor: &Supervisor,
        root: TaskId,
        ModelParams { model: wanted, effort }: &ModelParams,
    ) -> Result<String, ModelChangeError> {
        let effort = *effort;
        let spec = self.catalog.models.full_name(wanted);
        let model = self.catalog.model_by_spec(&spec).map_err(|source| {
            let (spec, known) = (protocol::Clip::new(wanted, 100).into_string(), self.model_names());
            ModelChangeError::Unusable { spec, source, known }
        })?;
        let budget = supervisor.query(move |kernel| kernel.task(root).map(|root| root.ledger.budget)).await?;
        let lacks_price = budget.is_some_and(|budget| budget.micros.is_some()) && model.facts().price.is_none();
        if lacks_price || self.facts.day_budget.is_some() && model.facts().is_price_missing() {
            return Err(ModelChangeError::Unpriced(spec));
        }
        // The model must be available before its name is in the log.
        self.catalog.added_models.insert(spec.clone(), model);
        supervisor.submit(KernelInput::SetModel { model: spec.clone(), effort, by: Principal::User }).await?;
        Ok(spec)
    }
}
