//! What must be written nowhere: the keys of this process.

use std::sync::{PoisonError, RwLock};

use net::Secret;
use runtime::Redactor;

static REDACTOR: RwLock<Option<Redactor>> = RwLock::new(None);

/// Keeps these out of the log and of reports from now on, besides those that are kept out already: a process may run
/// sessions of several clients, each with keys of its own.
pub(crate) fn redact_secrets(secrets: &[Secret]) {
    let mut hidden = REDACTOR.write().unwrap_or_else(PoisonError::into_inner);
    *hidden = Some(hidden.as_ref().map_or_else(|| Redactor::new(secrets), |known| known.with_secrets(secrets)));
}

/// A text without them.
pub(crate) fn redact(mut text: String) -> String {
    if let Some(redactor) = &*REDACTOR.read().unwrap_or_else(PoisonError::into_inner) {
        redactor.redact_text(&mut text);
    }
    text
}
