//! Secrets that pass between a session and its servers: tokens that the session's client supplies, and tokens that
//! servers get, which nobody must see.

use std::sync::{Arc, OnceLock};

use net::Secret;
use tools::{McpTokenSource, SecretSink};

/// Passes on secrets, as soon as somebody wants to know or supplies them. Clones share who that is.
#[derive(Debug, Clone, Default)]
pub(crate) struct SessionSecrets {
    sink: Arc<OnceLock<Arc<dyn SecretSink>>>,
    tokens: Arc<OnceLock<Arc<dyn McpTokenSource>>>,
}

impl SessionSecrets {
    /// Reports to this receiver from now on, unless there is one.
    pub(crate) fn report_to(&self, sink: Arc<dyn SecretSink>) {
        // A session has one.
        let _first = self.sink.set(sink);
    }

    /// Has tokens supplied from here, unless they are supplied elsewhere.
    pub(crate) fn use_tokens_of(&self, source: Arc<dyn McpTokenSource>) {
        // A session has one.
        let _first = self.tokens.set(source);
    }

    /// Who supplies tokens at present.
    pub(crate) fn tokens(&self) -> Option<&dyn McpTokenSource> {
        self.tokens.get().map(|source| &**source).filter(|source| source.is_ready())
    }

    /// Reports a secret that is about to be used.
    pub(crate) fn report(&self, secret: &Secret) {
        if let Some(sink) = self.sink.get() {
            sink.add_secret(secret);
        }
    }
}
