//! The right to one request, and how it went.

use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use kernel::bucket::{self, RequestOutcome};
use protocol::ModelFault;

use super::worker::{GovernorMessage, PermitUpdate};

/// The right to one request. Dropping it gives it back without a word on how it went.
#[derive(Debug)]
#[must_use = "the right to ask is given back when this is dropped"]
pub(crate) struct ModelPermit(Option<HeldPermit>);

/// How a request went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PermitOutcome {
    /// It was answered.
    Answered,
    /// It was not.
    Failed(ModelFault),
}

/// A place in a bucket.
#[derive(Debug)]
pub(super) struct HeldPermit {
    pub(super) key: Arc<str>,
    pub(super) permit: bucket::RequestPermit,
    /// Whether others wait for the first word of its answer.
    pub(super) probe: bool,
    pub(super) worker: Sender<GovernorMessage>,
}

impl ModelPermit {
    /// A permit for a model that nobody governs.
    pub(super) fn free() -> ModelPermit {
        ModelPermit(None)
    }

    pub(super) fn new(held: HeldPermit) -> ModelPermit {
        ModelPermit(Some(held))
    }

    /// Says that the answer has begun.
    pub(crate) fn answer_began(&mut self) {
        if let Some(held) = self.0.as_mut().filter(|held| held.probe) {
            held.probe = false;
            held.send_update(PermitUpdate::AnswerBegan);
        }
    }

    /// Says how the request went.
    pub(crate) fn settle(mut self, verdict: PermitOutcome) {
        self.give_back(provider_news(verdict));
    }

    fn give_back(&mut self, news: RequestOutcome) {
        if let Some(held) = self.0.take() {
            held.send_update(PermitUpdate::Returned(news));
        }
    }
}

impl HeldPermit {
    fn send_update(&self, word: PermitUpdate) {
        // A keeper that is gone has nobody to tell.
        let _gone = self.worker.send(GovernorMessage::Update { key: Arc::clone(&self.key), permit: self.permit, word });
    }
}

impl Drop for ModelPermit {
    fn drop(&mut self) {
        self.give_back(RequestOutcome::Nothing);
    }
}

/// What a verdict says of the provider, whoever asked.
fn provider_news(verdict: PermitOutcome) -> RequestOutcome {
    match verdict {
        PermitOutcome::Answered => RequestOutcome::Answered,
        PermitOutcome::Failed(ModelFault::Transient | ModelFault::Overloaded) => RequestOutcome::Down,
        // It says nothing of the account that others use, who may have another network.
        PermitOutcome::Failed(ModelFault::Unreachable) => RequestOutcome::Nothing,
        PermitOutcome::Failed(ModelFault::RetryAfter { millis: 0 }) => RequestOutcome::Throttled(None),
        PermitOutcome::Failed(ModelFault::RetryAfter { millis }) => {
            RequestOutcome::Throttled(Some(Duration::from_millis(millis)))
        }
        PermitOutcome::Failed(ModelFault::QuotaUntil { until_at }) => RequestOutcome::Quota(until_at),
        PermitOutcome::Failed(ModelFault::Auth | ModelFault::TooLong | ModelFault::Terminal) => RequestOutcome::Refused,
        PermitOutcome::Failed(ModelFault::Cancelled | ModelFault::Interrupted) => RequestOutcome::Nothing,
    }
}
