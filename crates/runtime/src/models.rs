//! The models that agents may use besides the session's.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use model::{Model, OpenModelError, Provider, Providers};
use protocol::ModelPreference;

/// Why a model is not available.
#[derive(Debug, thiserror::Error)]
pub enum ModelResolveError {
    /// Only the session's model is available.
    #[error("the model `{0}` is not available: agents of this session use the session's own model")]
    SessionModelOnly(String),
    /// No provider has it.
    #[error("no provider has `{0}`")]
    Unknown(String),
    /// Its provider cannot be used.
    #[error("its provider cannot be used: {0}")]
    Provider(String),
    /// It cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenModelError),
}

/// Resolves model names.
pub trait ModelResolver: Send + Sync + fmt::Debug {
    /// Opens a model by its name, as `--model` takes it.
    fn open(&self, spec: &str) -> Result<Arc<dyn Model>, ModelResolveError>;

    /// Opens a model of a provider that a program has added, which has this name and is in no settings.
    fn open_joined(&self, spec: &str, _name: &str, _provider: Provider) -> Result<Arc<dyn Model>, ModelResolveError> {
        Err(ModelResolveError::SessionModelOnly(spec.to_owned()))
    }

    /// The full name of a model, which means the same in every process that resumes the session.
    fn full_name(&self, spec: &str) -> String {
        spec.to_owned()
    }

    /// Whether a model may exist, as far as is known: no list of a provider's models is complete.
    fn may_exist(&self, _spec: &str) -> bool {
        true
    }

    /// The usable models, by the names that [`ModelResolver::open`] takes.
    fn available(&self) -> Vec<String>;

    /// The model configured for this preference, if there is one.
    fn preferred(&self, preference: ModelPreference) -> Option<String>;

    /// What another process needs to open the same models; `None` if they exist only in this process.
    fn sources(&self) -> Option<ModelSources> {
        None
    }
}

/// What a process needs to open models by their names.
#[derive(Debug, Clone)]
pub struct ModelSources {
    /// The providers, with their keys.
    pub providers: Providers,
    /// The folder in which relative names of files start.
    pub folder: PathBuf,
}

/// Resolves no model: agents use the session's.
#[derive(Debug)]
pub struct SessionModelOnly;

impl ModelResolver for SessionModelOnly {
    fn open(&self, spec: &str) -> Result<Arc<dyn Model>, ModelResolveError> {
        Err(ModelResolveError::SessionModelOnly(spec.to_owned()))
    }

    fn available(&self) -> Vec<String> {
        Vec::new()
    }

    fn preferred(&self, _preference: ModelPreference) -> Option<String> {
        None
    }
}

/// The policy for agents whose model is much more expensive than the session's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CostGuard {
    /// The maximum price in percent of the session's model; no limit when absent.
    pub percent: Option<u32>,
    /// The action for an agent above the limit.
    pub action: ExpensiveModelAction,
    /// How a model of unknown price is treated.
    pub unpriced: UnpricedModelPolicy,
}

/// How a model of unknown price is treated, since it may cost money.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum UnpricedModelPolicy {
    /// As too expensive.
    #[default]
    TooExpensive,
    /// As cheap enough.
    Allowed,
}

/// The action for an agent whose model is too expensive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ExpensiveModelAction {
    /// Do not start it.
    #[default]
    Refuse,
    /// Start it with the session's model, and record the change.
    Downgrade,
}

impl Default for CostGuard {
    fn default() -> Self {
        CostGuard { percent: None, action: ExpensiveModelAction::Refuse, unpriced: UnpricedModelPolicy::TooExpensive }
    }
}
