//! What must be written nowhere: the keys of this process.

use std::sync::{PoisonError, RwLock};

use net::Secret;
use runtime::Redactor;

static HIDDEN: RwLock<Option<Redactor>> = RwLock::new(None);

/// Keeps these out of the log and of reports from now on, besides those that are kept out already: a process may run
/// sessions of several clients, each with keys of its own.
pub(crate) fn hide(secrets: &[Secret]) {
    let mut hidden = HIDDEN.write().unwrap_or_else(PoisonError::into_inner);
    *hidden = Some(hidden.as_ref().map_or_else(|| Redactor::new(secrets), |known| known.with(secrets)));
}

/// A text without them.
pub(crate) fn without_secrets(mut text: String) -> String {
    if let Some(redactor) = &*HIDDEN.read().unwrap_or_else(PoisonError::into_inner) {
        redactor.text(&mut text);
    }
    text
}
