//! The models that agents may be run with.

use std::path::PathBuf;
use std::sync::Arc;

use model::{Model, Providers};
use protocol::Taste;
use runtime::Models;

/// The models of the providers that are configured.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) providers: Providers,
    pub(crate) cwd: PathBuf,
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

    fn liked(&self, _taste: Taste) -> Option<String> {
        None
    }
}
