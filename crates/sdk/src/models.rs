//! The models that agents can use.

use std::path::PathBuf;
use std::sync::Arc;

use model::{Model, Providers};
use protocol::ModelPreference;
use runtime::ModelResolver;

/// The models of the configured providers.
#[derive(Debug)]
pub(crate) struct ConfiguredModels {
    pub(crate) providers: Providers,
    pub(crate) cwd: PathBuf,
}

impl ModelResolver for ConfiguredModels {
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

    fn preferred(&self, _preference: ModelPreference) -> Option<String> {
        None
    }
}
