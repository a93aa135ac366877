//! A test fixture around one bucket.

use std::time::Duration;

use bosun_kernel::RateBucket;
use bosun_kernel::bucket::{AdmitDecision, PermitHolder, RequestOutcome, RequestPermit};
use protocol::Timestamp;

pub(crate) const NOW: Timestamp = Timestamp(1_800_000_000_000);

pub(crate) fn after(millis: u64) -> Timestamp {
    NOW.plus(Duration::from_millis(millis))
}

pub(crate) fn holder(name: &str) -> PermitHolder {
    PermitHolder(name.into())
}

pub(crate) fn retry_after(millis: u64) -> RequestOutcome {
    RequestOutcome::Throttled(Some(Duration::from_millis(millis)))
}

/// A bucket, with helpers for admitting and settling requests.
#[derive(Default)]
pub(crate) struct BucketFixture {
    pub(crate) bucket: RateBucket,
}

impl BucketFixture {
    pub(crate) fn admit(&mut self, at: Timestamp, who: &str) -> AdmitDecision {
        self.bucket.admit(at, &holder(who), None)
    }

    #[track_caller]
    pub(crate) fn expect_permit(&mut self, at: Timestamp, who: &str) -> RequestPermit {
        match self.admit(at, who) {
            AdmitDecision::Go(permit) => permit,
            other => panic!("{other:?} {:?}", self.bucket),
        }
    }

    #[track_caller]
    pub(crate) fn expect_wait(&mut self, at: Timestamp, who: &str) -> Timestamp {
        match self.admit(at, who) {
            AdmitDecision::Wait(until) => until,
            other => panic!("{other:?} {:?}", self.bucket),
        }
    }

    pub(crate) fn settle(&mut self, at: Timestamp, who: &str, permit: RequestPermit, outcome: RequestOutcome) {
        self.bucket.settle(at, &holder(who), permit, outcome, 0.0);
    }

    /// A bucket that `a` has closed.
    pub(crate) fn closed(outcome: RequestOutcome) -> BucketFixture {
        let mut fixture = BucketFixture::default();
        let permit = fixture.expect_permit(NOW, "a");
        fixture.settle(NOW, "a", permit, outcome);
        fixture
    }

    pub(crate) fn closed_for(&self, now: Timestamp) -> u64 {
        u64::try_from(self.bucket.closed_until().unwrap().since(now).as_millis()).unwrap()
    }
}
