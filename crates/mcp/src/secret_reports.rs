//! Secrets that servers get while a session runs, such as renewed tokens.

use std::sync::{Arc, OnceLock};

use net::Secret;
use tools::SecretSink;

/// Passes on the secrets of a session's servers, as soon as somebody wants to know them. Clones share the receiver.
#[derive(Debug, Clone, Default)]
pub(crate) struct SecretReports(Arc<OnceLock<Arc<dyn SecretSink>>>);

impl SecretReports {
    /// Reports to this receiver from now on, unless there is one.
    pub(crate) fn report_to(&self, sink: Arc<dyn SecretSink>) {
        // A session has one.
        let _first = self.0.set(sink);
    }

    /// Reports a secret that is about to be used.
    pub(crate) fn report(&self, secret: &Secret) {
        if let Some(sink) = self.0.get() {
            sink.add_secret(secret);
        }
    }
}
