//! Models for agents, set up by a test.

use std::sync::Arc;

use model::Model;
use protocol::ModelPreference;
use runtime::{ModelResolveError, ModelResolver};

/// The models available besides the session's own.
#[derive(Debug, Default)]
pub struct TestModels {
    models: Vec<Arc<dyn Model>>,
    small: Option<String>,
    other: Option<String>,
    aliases: Vec<(String, String)>,
    unheard_of: Vec<String>,
}

impl TestModels {
    /// Adds a model under its own name.
    #[must_use]
    pub fn with(mut self, model: Arc<dyn Model>) -> TestModels {
        self.models.push(model);
        self
    }

    /// Adds an alias of a model.
    #[must_use]
    pub fn alias(mut self, alias: &str, name: &str) -> TestModels {
        self.aliases.push((alias.into(), name.into()));
        self
    }

    /// Marks a model as unknown to its provider, although a request could be tried.
    #[must_use]
    pub fn unheard_of(mut self, name: &str) -> TestModels {
        self.unheard_of.push(name.into());
        self
    }

    /// Sets the small model.
    #[must_use]
    pub fn small(self, name: &str) -> TestModels {
        TestModels { small: Some(name.into()), ..self }
    }

    /// Sets the model of another family.
    #[must_use]
    pub fn other(self, name: &str) -> TestModels {
        TestModels { other: Some(name.into()), ..self }
    }
}

impl ModelResolver for TestModels {
    fn open(&self, spec: &str) -> Result<Arc<dyn Model>, ModelResolveError> {
        let found = self.models.iter().find(|model| model.name() == spec);
        found.cloned().ok_or_else(|| ModelResolveError::Unknown(spec.to_owned()))
    }

    fn full_name(&self, spec: &str) -> String {
        let meant = self.aliases.iter().find(|(alias, _)| alias == spec);
        meant.map_or_else(|| spec.to_owned(), |(_, name)| name.clone())
    }

    fn may_exist(&self, spec: &str) -> bool {
        !self.unheard_of.iter().any(|name| name == spec)
    }

    fn available(&self) -> Vec<String> {
        self.models.iter().map(|model| model.name().to_owned()).collect()
    }

    fn preferred(&self, preference: ModelPreference) -> Option<String> {
        match preference {
            ModelPreference::Same => None,
            ModelPreference::Small => self.small.clone(),
            ModelPreference::Other => self.other.clone(),
        }
    }
}
