//! The trait every model implements, and the one way a model fails.

use std::fmt;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use protocol::ModelFault;

use crate::{Delta, ModelFacts, ModelRequest};

/// What a model answers with; dropping it gives the request up.
pub type Deltas = BoxStream<'static, Result<Delta, ModelError>>;

/// Something that can be asked. It keeps nothing between two requests.
pub trait Model: Send + Sync + fmt::Debug {
    /// What people call it, provider first: `script/fix.yaml`.
    fn name(&self) -> &str;

    /// What is known of it.
    fn facts(&self) -> &ModelFacts {
        &ModelFacts::UNKNOWN
    }

    /// Finds out more about it, if anybody can tell; its facts may be others from then on. Costs nothing once they
    /// are known.
    fn refresh_facts(&self) -> BoxFuture<'_, ()> {
        std::future::ready(()).boxed()
    }

    /// Asks. The stream ends after [`Delta::Done`] or after its first error; one that ends without either was cut.
    fn ask(&self, request: ModelRequest) -> Deltas;
}

/// Why a model did not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    /// In which way; it decides what happens next.
    pub fault: ModelFault,
    /// What happened, for people.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// Whether the model may have begun to work on an answer, so that it may have cost something.
    pub has_started: bool,
}

impl ModelError {
    /// An error without a hint.
    pub fn new(fault: ModelFault, message: impl Into<String>) -> ModelError {
        ModelError { fault, message: message.into(), hint: None, has_started: false }
    }

    /// The same error of a model that had begun to answer.
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
