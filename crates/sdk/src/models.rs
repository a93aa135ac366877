//! The models that agents may be run with.

use std::path::PathBuf;
use std::sync::Arc;

use model::{Key, Model, Providers};
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
        model::in_full(spec, &self.cwd)
    }

    fn available(&self) -> Vec<String> {
        let can_be_asked = |key: &Key| match key {
            Key::Given(_) | Key::Needless => true,
            Key::Missing { .. } => false,
        };
        let places = self.providers.places.iter().filter(|(_, place)| can_be_asked(&place.key));
        places.flat_map(|(provider, place)| place.models.keys().map(move |name| format!("{provider}/{name}"))).collect()
    }

    fn liked(&self, _taste: Taste) -> Option<String> {
        None
    }
}
