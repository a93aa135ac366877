//! What a run holds at its session while it asks its model: the right to send the request, and a share of the daily budget.
//! Each is returned when the run drops it.

use std::sync::Arc;

use model::ModelFacts;
use protocol::Timestamp;

use super::SessionRequests;
use crate::governor::PermitOutcome;

/// Identifies what a run holds at its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct HoldId(pub(crate) u64);

/// A model request that the governor admits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AdmissionRequest {
    /// The bucket of its account and model, if it has one.
    pub(crate) bucket: Option<String>,
    pub(crate) max_concurrent: Option<u32>,
}

impl AdmissionRequest {
    /// The request for a model.
    pub(crate) fn for_model(facts: &ModelFacts) -> AdmissionRequest {
        AdmissionRequest { bucket: facts.bucket_key.clone(), max_concurrent: facts.max_concurrent_requests }
    }
}

/// The governor's reply to a run that wants to send a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AdmissionReply {
    /// Send the request now, and report its outcome.
    Admitted(HoldId),
    /// A quota is used up until this time.
    Park(Timestamp),
}

/// What a run tells its session about what it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HoldUpdate {
    /// The answer has begun.
    AnswerBegan,
    /// The request was sent; its expected cost, in millionths of a dollar, counts as spent if the real cost stays unknown.
    Sent(u64),
    /// The permit is returned: the request is over.
    Returned(PermitOutcome),
    /// The share of the daily budget is returned: this was spent.
    Spent(u64),
    /// It is returned, and nothing is known about the request.
    Dropped,
}

impl HoldUpdate {
    /// Whether the run holds it no longer.
    pub(crate) fn returns_it(self) -> bool {
        match self {
            HoldUpdate::AnswerBegan | HoldUpdate::Sent(_) => false,
            HoldUpdate::Returned(_) | HoldUpdate::Spent(_) | HoldUpdate::Dropped => true,
        }
    }
}

/// What a run holds at its session.
#[derive(Debug)]
struct Held {
    session: Arc<dyn SessionRequests>,
    id: HoldId,
}

impl Held {
    fn update(&self, update: HoldUpdate) {
        self.session.update_hold(self.id, update);
    }
}

/// The right to send one request. Dropping it returns it without an outcome.
#[derive(Debug)]
#[must_use = "the permit is returned when this is dropped"]
pub(crate) struct RequestPermit {
    /// Nothing once it is returned.
    held: Option<Held>,
    has_begun: bool,
}

impl RequestPermit {
    /// The permit that the session holds under this id.
    pub(crate) fn new(session: Arc<dyn SessionRequests>, id: HoldId) -> RequestPermit {
        RequestPermit { held: Some(Held { session, id }), has_begun: false }
    }

    /// Reports, once, that the answer has begun.
    pub(crate) fn answer_began(&mut self) {
        if let Some(held) = self.held.as_ref().filter(|_| !self.has_begun) {
            held.update(HoldUpdate::AnswerBegan);
        }
        self.has_begun = true;
    }

    /// Reports the outcome of the request.
    pub(crate) fn settle(mut self, outcome: PermitOutcome) {
        if let Some(held) = self.held.take() {
            held.update(HoldUpdate::Returned(outcome));
        }
    }
}

impl Drop for RequestPermit {
    fn drop(&mut self) {
        if let Some(held) = self.held.take() {
            held.update(HoldUpdate::Dropped);
        }
    }
}

/// A request's share of the daily budget. Dropping it counts the expected cost as spent, if the request was sent.
#[derive(Debug)]
#[must_use = "the share is returned when this is dropped"]
pub(crate) struct DayShare {
    /// Nothing if the model costs nothing.
    held: Option<Held>,
}

impl DayShare {
    /// The share of a model that costs nothing.
    pub(crate) fn for_free_model() -> DayShare {
        DayShare { held: None }
    }

    /// The share that the session holds under this id.
    pub(crate) fn new(session: Arc<dyn SessionRequests>, id: HoldId) -> DayShare {
        DayShare { held: Some(Held { session, id }) }
    }

    /// Whether the model costs something.
    pub(crate) fn is_held(&self) -> bool {
        self.held.is_some()
    }

    /// Marks the request as sent, with its expected cost.
    pub(crate) fn mark_sent(&self, expected: u64) {
        if let Some(held) = &self.held {
            held.update(HoldUpdate::Sent(expected));
        }
    }

    /// Reserves more while an answer arrives; returns whether the limit allows it.
    pub(crate) async fn raise(&self, micros: u64) -> bool {
        match &self.held {
            Some(held) => held.session.raise_day(held.id, micros).await,
            None => true,
        }
    }

    /// Settles the share to the real cost of the request.
    pub(crate) fn settle(mut self, used: u64) {
        if let Some(held) = self.held.take() {
            held.update(HoldUpdate::Spent(used));
        }
    }
}

impl Drop for DayShare {
    fn drop(&mut self) {
        if let Some(held) = self.held.take() {
            held.update(HoldUpdate::Dropped);
        }
    }
}
