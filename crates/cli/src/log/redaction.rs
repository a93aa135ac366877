//! Keeps the secrets of this process out of logs and reports.

use std::sync::{PoisonError, RwLock};

use net::Secret;
use runtime::Redactor;

static REDACTOR: RwLock<Option<Redactor>> = RwLock::new(None);

/// Adds secrets to those redacted from the log and from reports. A process may run sessions of several clients,
/// each with its own keys.
pub(crate) fn redact_secrets(secrets: &[Secret]) {
    let mut redactor = REDACTOR.write().unwrap_or_else(PoisonError::into_inner);
    redactor.get_or_insert_with(|| Redactor::new(&[])).add_secrets(secrets);
}

/// The text without the secrets.
pub(crate) fn redact(mut text: String) -> String {
    if let Some(redactor) = &*REDACTOR.read().unwrap_or_else(PoisonError::into_inner) {
        redactor.redact_text(&mut text);
    }
    text
}
