//! The trait of all models, and the error type of all models.

use std::fmt;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use protocol::ModelFault;

use crate::{Delta, ModelFacts, ModelRequest};

/// The stream of an answer; dropping it cancels the request.
pub type Deltas = BoxStream<'static, Result<Delta, ModelError>>;

/// A model. It keeps no state between two requests.
pub trait Model: Send + Sync + fmt::Debug {
    /// Its display name, provider first: `script/fix.yaml`.
    fn name(&self) -> &str;

    /// What is known about it.
    fn facts(&self) -> &ModelFacts {
        &ModelFacts::UNKNOWN
    }

    /// Updates its facts, if there is a source for them. Costs nothing once they are known.
    fn refresh_facts(&self) -> BoxFuture<'_, ()> {
        std::future::ready(()).boxed()
    }

    /// Sends a request. The stream ends after [`Delta::Done`] or after its first error; one that ends without either
    /// was cut off.
    fn send(&self, request: ModelRequest) -> Deltas;
}

/// Why a model did not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    /// The kind of failure; it decides what happens next.
    pub fault: ModelFault,
    /// A message for the user.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// Whether the model may have started an answer, so that it may have cost something.
    pub has_started: bool,
}

impl ModelError {
    /// An error without a hint.
    pub fn new(fault: ModelFault, message: impl Into<String>) -> ModelError {
        ModelError { fault, message: message.into(), hint: None, has_started: false }
    }

    /// The same error after an answer has started.
    #[must_use]
    pub fn after_start(self) -> ModelError {
        ModelError { has_started: true, ..self }
    }

    /// The same error with a hint.
    #[must_use]
    pub fn with_hint(self, hint: impl Into<String>) -> ModelError {
        ModelError { hint: Some(hint.into()), ..self }
    }
}
