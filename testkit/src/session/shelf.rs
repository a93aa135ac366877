//! Models that agents may be run with, as a test puts them there.

use std::sync::Arc;

use model::Model;
use protocol::Taste;
use runtime::Models;

/// The models that are there besides the session's own.
#[derive(Debug, Default)]
pub struct Shelf {
    models: Vec<Arc<dyn Model>>,
    small: Option<String>,
    other: Option<String>,
}

impl Shelf {
    /// There is this model too, under the name it gives itself.
    #[must_use]
    pub fn with(mut self, model: Arc<dyn Model>) -> Shelf {
        self.models.push(model);
        self
    }

    /// The small one is called this.
    #[must_use]
    pub fn small(self, name: &str) -> Shelf {
        Shelf { small: Some(name.into()), ..self }
    }

    /// The one of another family is called this.
    #[must_use]
    pub fn other(self, name: &str) -> Shelf {
        Shelf { other: Some(name.into()), ..self }
    }
}

impl Models for Shelf {
    fn open(&self, spec: &str) -> Result<Arc<dyn Model>, String> {
        let found = self.models.iter().find(|model| model.name() == spec);
        found.cloned().ok_or_else(|| format!("no provider has `{spec}`"))
    }

    fn available(&self) -> Vec<String> {
        self.models.iter().map(|model| model.name().to_owned()).collect()
    }

    fn liked(&self, taste: Taste) -> Option<String> {
        match taste {
            Taste::Same => None,
            Taste::Small => self.small.clone(),
            Taste::Other => self.other.clone(),
        }
    }
}
