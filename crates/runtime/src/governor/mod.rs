//! Stands in front of every provider: who may ask now, and who waits.

use std::sync::Arc;

use host::{Clock, Home};
use model::Facts;
use protocol::{At, ModelFault};

/// Stands in front of every provider.
#[derive(Debug)]
pub(crate) struct Governor {}

/// What the governor says to somebody who wants to ask.
#[derive(Debug)]
pub(crate) enum Admission {
    /// Ask now, and say how it went.
    Go(Permit),
    /// A quota is used up until this moment.
    Park(At),
}

/// The right to one request. Dropping it gives it back without a word on how it went.
#[derive(Debug)]
pub(crate) struct Permit {}

/// How a request went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It was answered.
    Answered,
    /// It was not.
    Failed(ModelFault),
}

impl Governor {
    pub(crate) fn open(_home: Home, _clock: Arc<dyn Clock>) -> Governor {
        Governor {}
    }

    /// Waits for the right to ask.
    pub(crate) async fn admit(&self, _facts: &Facts) -> Admission {
        Admission::Go(Permit {})
    }
}

impl Permit {
    /// Says how the request went.
    pub(crate) fn settle(self, _verdict: Verdict) {}
}
