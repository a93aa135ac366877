//! The right to one request, and how it went.

use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use kernel::bucket::{self, News};
use protocol::ModelFault;

use super::keeper::{Note, Word};

/// The right to one request. Dropping it gives it back without a word on how it went.
#[derive(Debug)]
#[must_use = "the right to ask is given back when this is dropped"]
pub(crate) struct Permit(Option<Held>);

/// How a request went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It was answered.
    Answered,
    /// It was not.
    Failed(ModelFault),
}

/// A place in a bucket.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) key: Arc<str>,
    pub(super) permit: bucket::Permit,
    /// Whether others wait for the first word of its answer.
    pub(super) probe: bool,
    pub(super) keeper: Sender<Note>,
}

impl Permit {
    /// A permit for a model that nobody governs.
    pub(super) fn free() -> Permit {
        Permit(None)
    }

    pub(super) fn new(held: Held) -> Permit {
        Permit(Some(held))
    }

    /// Says that the answer has begun.
    pub(crate) fn begun(&mut self) {
        if let Some(held) = self.0.as_mut().filter(|held| held.probe) {
            held.probe = false;
            held.tell(Word::Begun);
        }
    }

    /// Says how the request went.
    pub(crate) fn settle(mut self, verdict: Verdict) {
        self.give_back(news(verdict));
    }

    fn give_back(&mut self, news: News) {
        if let Some(held) = self.0.take() {
            held.tell(Word::Back(news));
        }
    }
}

impl Held {
    fn tell(&self, word: Word) {
        // A keeper that is gone has nobody to tell.
        let _gone = self.keeper.send(Note::Told { key: Arc::clone(&self.key), permit: self.permit, word });
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.give_back(News::Nothing);
    }
}

/// What a verdict says of the provider, whoever asked.
fn news(verdict: Verdict) -> News {
    match verdict {
        Verdict::Answered => News::Answered,
        Verdict::Failed(ModelFault::Transient | ModelFault::Overloaded) => News::Down,
        // It says nothing of the account that others use, who may have another network.
        Verdict::Failed(ModelFault::Unreachable) => News::Nothing,
        Verdict::Failed(ModelFault::RetryAfter { millis: 0 }) => News::Throttled(None),
        Verdict::Failed(ModelFault::RetryAfter { millis }) => News::Throttled(Some(Duration::from_millis(millis))),
        Verdict::Failed(ModelFault::QuotaUntil { until_at }) => News::Quota(until_at),
        Verdict::Failed(ModelFault::Auth | ModelFault::TooLong | ModelFault::Terminal) => News::Refused,
        Verdict::Failed(ModelFault::Cancelled | ModelFault::Interrupted) => News::Nothing,
    }
}
