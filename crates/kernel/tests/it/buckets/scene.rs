//! A bucket and a few words to tell its stories with.

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

/// A bucket.
#[derive(Default)]
pub(crate) struct Scene {
    pub(crate) bucket: RateBucket,
}

impl Scene {
    pub(crate) fn ask(&mut self, at: Timestamp, who: &str) -> AdmitDecision {
        self.bucket.admit(at, &holder(who), None)
    }

    #[track_caller]
    pub(crate) fn go(&mut self, at: Timestamp, who: &str) -> RequestPermit {
        match self.ask(at, who) {
            AdmitDecision::Go(permit) => permit,
            other => panic!("{other:?} {:?}", self.bucket),
        }
    }

    #[track_caller]
    pub(crate) fn waits(&mut self, at: Timestamp, who: &str) -> Timestamp {
        match self.ask(at, who) {
            AdmitDecision::Wait(until) => until,
            other => panic!("{other:?} {:?}", self.bucket),
        }
    }

    pub(crate) fn tell(&mut self, at: Timestamp, who: &str, permit: RequestPermit, news: RequestOutcome) {
        self.bucket.settle(at, &holder(who), permit, news, 0.0);
    }

    /// A bucket that `a` has closed.
    pub(crate) fn closed(news: RequestOutcome) -> Scene {
        let mut scene = Scene::default();
        let permit = scene.go(NOW, "a");
        scene.tell(NOW, "a", permit, news);
        scene
    }

    pub(crate) fn closed_for(&self, now: Timestamp) -> u64 {
        u64::try_from(self.bucket.closed_until().unwrap().since(now).as_millis()).unwrap()
    }
}
