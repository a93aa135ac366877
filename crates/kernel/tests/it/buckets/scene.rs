//! A bucket and a few words to tell its stories with.

use std::time::Duration;

use bosun_kernel::Bucket;
use bosun_kernel::bucket::{Entrance, Holder, News, Permit};
use protocol::At;

pub(crate) const NOW: At = At(1_800_000_000_000);

pub(crate) fn after(millis: u64) -> At {
    NOW.plus(Duration::from_millis(millis))
}

pub(crate) fn holder(name: &str) -> Holder {
    Holder(name.into())
}

pub(crate) fn retry_after(millis: u64) -> News {
    News::Throttled(Some(Duration::from_millis(millis)))
}

/// A bucket.
#[derive(Default)]
pub(crate) struct Scene {
    pub(crate) bucket: Bucket,
}

impl Scene {
    pub(crate) fn ask(&mut self, at: At, who: &str) -> Entrance {
        self.bucket.admit(at, &holder(who), None)
    }

    #[track_caller]
    pub(crate) fn go(&mut self, at: At, who: &str) -> Permit {
        match self.ask(at, who) {
            Entrance::Go(permit) => permit,
            other => panic!("{other:?} {:?}", self.bucket),
        }
    }

    #[track_caller]
    pub(crate) fn waits(&mut self, at: At, who: &str) -> At {
        match self.ask(at, who) {
            Entrance::Wait(until) => until,
            other => panic!("{other:?} {:?}", self.bucket),
        }
    }

    pub(crate) fn tell(&mut self, at: At, who: &str, permit: Permit, news: News) {
        self.bucket.settle(at, &holder(who), permit, news, 0.0);
    }

    /// A bucket that `a` has closed.
    pub(crate) fn closed(news: News) -> Scene {
        let mut scene = Scene::default();
        let permit = scene.go(NOW, "a");
        scene.tell(NOW, "a", permit, news);
        scene
    }

    pub(crate) fn closed_for(&self, now: At) -> u64 {
        u64::try_from(self.bucket.closed_until().unwrap().since(now).as_millis()).unwrap()
    }
}
