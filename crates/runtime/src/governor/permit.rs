//! The right to send one request, and its outcome.

use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use kernel::bucket::{self, RequestOutcome};
use protocol::ModelFault;

use super::gate::PassedRequest;
use super::worker::{GovernorMessage, PermitUpdate};

/// The right to send one request. Dropping it returns it without an outcome.
#[derive(Debug)]
#[must_use = "the permit is returned when this is dropped"]
pub(crate) struct ModelPermit {
    held: Option<HeldPermit>,
    /// The session waits for the end of the request before it is left.
    _passed: Option<PassedRequest>,
}

/// The outcome of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PermitOutcome {
    /// It was answered.
    Answered,
    /// It failed.
    Failed(ModelFault),
}

/// A permit of a bucket.
#[derive(Debug)]
pub(super) struct HeldPermit {
    pub(super) key: Arc<str>,
    pub(super) permit: bucket::RequestPermit,
    /// Whether other requests wait for the start of its answer.
    pub(super) is_probe: bool,
    pub(super) worker: Sender<GovernorMessage>,
}

impl ModelPermit {
    /// A permit for a model that is not governed.
    pub(super) fn ungoverned() -> ModelPermit {
        ModelPermit { held: None, _passed: None }
    }

    pub(super) fn new(held: HeldPermit) -> ModelPermit {
        ModelPermit { held: Some(held), _passed: None }
    }

    /// The permit of a request that has passed the session's gate.
    pub(super) fn passing(mut self, passed: PassedRequest) -> ModelPermit {
        self._passed = Some(passed);
        self
    }

    /// Reports that the answer has begun.
    pub(crate) fn answer_began(&mut self) {
        if let Some(held) = self.held.as_mut().filter(|held| held.is_probe) {
            held.is_probe = false;
            held.send_update(PermitUpdate::AnswerBegan);
        }
    }

    /// Reports the outcome of the request.
    pub(crate) fn settle(mut self, outcome: PermitOutcome) {
        self.return_permit(bucket_outcome(outcome));
    }

    fn return_permit(&mut self, outcome: RequestOutcome) {
        if let Some(held) = self.held.take() {
            held.send_update(PermitUpdate::Returned(outcome));
        }
    }
}

impl HeldPermit {
    fn send_update(&self, update: PermitUpdate) {
        // The thread may be gone.
        let (key, permit) = (Arc::clone(&self.key), self.permit);
        let _gone = self.worker.send(GovernorMessage::Update { key, permit, update });
    }
}

impl Drop for ModelPermit {
    fn drop(&mut self) {
        self.return_permit(RequestOutcome::Abandoned);
    }
}

/// What an outcome means for the whole bucket.
fn bucket_outcome(outcome: PermitOutcome) -> RequestOutcome {
    match outcome {
        PermitOutcome::Answered => RequestOutcome::Answered,
        PermitOutcome::Failed(ModelFault::Transient | ModelFault::Overloaded) => RequestOutcome::Down,
        // This says nothing about the account: other processes may use another network.
        PermitOutcome::Failed(ModelFault::Unreachable) => RequestOutcome::Abandoned,
        PermitOutcome::Failed(ModelFault::RetryAfter { millis: 0 }) => RequestOutcome::Throttled(None),
        PermitOutcome::Failed(ModelFault::RetryAfter { millis }) => {
            RequestOutcome::Throttled(Some(Duration::from_millis(millis)))
        }
        PermitOutcome::Failed(ModelFault::QuotaUntil { until_at }) => RequestOutcome::Quota(until_at),
        PermitOutcome::Failed(ModelFault::Auth | ModelFault::TooLong | ModelFault::Terminal) => RequestOutcome::Refused,
        PermitOutcome::Failed(ModelFault::Cancelled | ModelFault::Interrupted) => RequestOutcome::Abandoned,
    }
}
