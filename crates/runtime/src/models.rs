//! The models that agents may be run with, besides the session's own.

use std::fmt;
use std::sync::Arc;

use model::Model;
use protocol::ModelPreference;

/// Where models come from.
pub trait ModelResolver: Send + Sync + fmt::Debug {
    /// Opens a model by its name, as `--model` takes it; says in words why it cannot.
    fn open(&self, spec: &str) -> Result<Arc<dyn Model>, String>;

    /// The whole name of a model, which means the same in any process that goes on with the session.
    fn full_name(&self, spec: &str) -> String {
        spec.to_owned()
    }

    /// Whether a model may exist, as far as is known; nobody knows all models of every provider.
    fn may_have(&self, _spec: &str) -> bool {
        true
    }

    /// The models that can be asked, by the names that [`Models::open`] takes.
    fn available(&self) -> Vec<String>;

    /// The model that an agent of this taste would like, if one is configured.
    fn preferred(&self, taste: ModelPreference) -> Option<String>;
}

/// No model but the session's own.
#[derive(Debug)]
pub struct SessionModelOnly;

impl ModelResolver for SessionModelOnly {
    fn open(&self, spec: &str) -> Result<Arc<dyn Model>, String> {
        Err(format!("there is no model `{spec}` besides the session's own"))
    }

    fn available(&self) -> Vec<String> {
        Vec::new()
    }

    fn preferred(&self, _taste: ModelPreference) -> Option<String> {
        None
    }
}

/// What becomes of an agent whose model is much more expensive than the session's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CostGuard {
    /// How many times more expensive it may be, in percent; anything when absent.
    pub percent: Option<u32>,
    /// What becomes of it otherwise.
    pub action: ExpensiveModelAction,
    /// What is thought of a model whose price is not known.
    pub unpriced: UnpricedModelPolicy,
}

/// What is thought of a model whose price is not known, though somebody may have to pay it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum UnpricedModelPolicy {
    /// It is too expensive.
    #[default]
    TooExpensive,
    /// It is cheap enough.
    Allowed,
}

/// What becomes of an agent whose model is too expensive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ExpensiveModelAction {
    /// It is not started.
    #[default]
    Refuse,
    /// It is run with the session's model, and everybody can see that.
    Downgrade,
}

impl Default for CostGuard {
    fn default() -> Self {
        CostGuard { percent: None, action: ExpensiveModelAction::Refuse, unpriced: UnpricedModelPolicy::TooExpensive }
    }
}
