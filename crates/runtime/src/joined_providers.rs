//! Model providers that a program adds while the session runs. They exist as long as the session is open.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use model::{Provider, ProviderKey};
use net::Secret;

use crate::redact::Redactor;

/// The providers that programs added to a session, by name. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct JoinedProviders(Arc<JoinedProviderState>);

#[derive(Debug, Default)]
struct JoinedProviderState {
    providers: Mutex<BTreeMap<String, Provider>>,
    /// The number of changes.
    version: AtomicU64,
    /// Keeps their keys out of everything that the session writes.
    redactor: OnceLock<Redactor>,
}

impl JoinedProviders {
    /// Adds a provider; one with a name that another has replaces that one.
    pub fn add(&self, name: String, provider: Provider) {
        if let Some(redactor) = self.0.redactor.get() {
            redactor.add_secrets(&secrets_of(&provider));
        }
        self.lock().insert(name, provider);
        self.0.version.fetch_add(1, Ordering::AcqRel);
    }

    /// Differs after every change.
    pub(crate) fn version(&self) -> u64 {
        self.0.version.load(Ordering::Acquire)
    }

    /// All providers, by name.
    pub fn all(&self) -> BTreeMap<String, Provider> {
        self.lock().clone()
    }

    /// The provider of a model that is named `PROVIDER/MODEL`.
    pub(crate) fn of_model(&self, spec: &str) -> Option<(String, Provider)> {
        let (name, _) = spec.split_once('/')?;
        self.lock().get(name).map(|provider| (name.to_owned(), provider.clone()))
    }

    /// Has the session's redactor know the keys of these providers, also of those that are added later.
    pub(crate) fn attach(&self, redactor: &Redactor) {
        // A session is opened once.
        let _attached_before = self.0.redactor.set(redactor.clone());
        let secrets: Vec<Secret> = self.lock().values().flat_map(secrets_of).collect();
        redactor.add_secrets(&secrets);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Provider>> {
        self.0.providers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The texts of a provider that must not be written.
fn secrets_of(provider: &Provider) -> Vec<Secret> {
    let key = match &provider.key {
        ProviderKey::Present(key) => Some(key.clone()),
        ProviderKey::Missing { .. } | ProviderKey::NotNeeded => None,
    };
    key.into_iter().chain(provider.extra.headers.iter().map(|(_, value)| value.clone())).collect()
}

#[cfg(test)]
mod tests {
    use model::WireFormat;

    use super::*;

    #[test]
    fn keys_of_added_providers_are_not_written() {
        let provider = |key: &str| {
            let key = ProviderKey::Present(Secret::new(key));
            Provider::new(WireFormat::Chat, "https://h".to_owned(), key)
        };
        let (joined, redactor) = (JoinedProviders::default(), Redactor::new(&[]));
        joined.add("early".into(), provider("sk-early-0123456789"));
        joined.attach(&redactor);
        joined.clone().add("late".into(), provider("sk-late-0123456789"));
        let mut written = "sk-early-0123456789 sk-late-0123456789".to_owned();
        redactor.redact_text(&mut written);
        assert!(!written.contains("0123456789"), "{written}");
        assert_eq!(joined.of_model("late/a/b").map(|(name, _)| name).as_deref(), Some("late"));
        assert!(joined.of_model("other/a").is_none() && joined.of_model("late").is_none());
    }
}
