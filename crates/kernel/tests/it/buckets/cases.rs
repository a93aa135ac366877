//! One event after the other.

use std::time::Duration;

use bosun_kernel::Bucket;
use bosun_kernel::bucket::{Entrance, Holder, News, Ticket};
use protocol::At;

const NOW: At = At(1_800_000_000_000);

fn after(millis: u64) -> At {
    NOW.plus(Duration::from_millis(millis))
}

fn holder(name: &str) -> Holder {
    Holder(name.into())
}

fn retry_after(millis: u64) -> News {
    News::Throttled(Some(Duration::from_millis(millis)))
}

/// A bucket and the moment, as one process sees them.
#[derive(Default)]
struct Scene {
    bucket: Bucket,
}

impl Scene {
    fn ask(&mut self, at: At, who: &str) -> Entrance {
        self.bucket.admit(at, &holder(who), None)
    }

    #[track_caller]
    fn go(&mut self, at: At, who: &str) -> Ticket {
        match self.ask(at, who) {
            Entrance::Go(ticket) => ticket,
            other => panic!("{other:?} {:?}", self.bucket),
        }
    }

    #[track_caller]
    fn waits(&mut self, at: At, who: &str) -> At {
        match self.ask(at, who) {
            Entrance::Wait(until) => until,
            other => panic!("{other:?} {:?}", self.bucket),
        }
    }

    fn tell(&mut self, at: At, who: &str, ticket: Ticket, news: News) {
        self.bucket.settle(at, &holder(who), ticket, news, 0.0);
    }

    /// A bucket that `a` has closed.
    fn closed(news: News) -> Scene {
        let mut scene = Scene::default();
        let ticket = scene.go(NOW, "a");
        scene.tell(NOW, "a", ticket, news);
        scene
    }

    fn closed_for(&self, now: At) -> u64 {
        u64::try_from(self.bucket.closed_until().unwrap().since(now).as_millis()).unwrap()
    }
}

#[test]
fn the_window_begins_at_thirty_two_and_doubles_while_it_is_too_small() {
    let mut scene = Scene::default();
    for size in [32, 64, 128] {
        let tickets: Vec<Ticket> = (0..size).map(|_| scene.go(NOW, "a")).collect();
        scene.waits(NOW, "a");
        tickets.into_iter().for_each(|ticket| scene.tell(NOW, "a", ticket, News::Answered));
    }
    assert_eq!(scene.bucket.window(), 256);
}

#[test]
fn a_window_that_nobody_needs_stays() {
    let mut scene = Scene::default();
    for _ in 0..1000 {
        let ticket = scene.go(NOW, "a");
        scene.tell(NOW, "a", ticket, News::Answered);
    }
    assert_eq!(scene.bucket.window(), 32);
}

#[test]
fn a_named_time_holds_for_everybody_and_then_one_probes() {
    let mut scene = Scene::closed(retry_after(2000));
    assert_eq!(scene.waits(after(100), "b"), after(2000));
    scene.waits(after(1999), "a");
    let probe = scene.go(after(2000), "b");
    assert!(scene.bucket.is_probe(probe));
    scene.waits(after(2000), "a");
    scene.waits(after(2500), "c");
    scene.bucket.begun(after(2600), probe);
    assert_eq!(scene.bucket.closed_until(), None);
    scene.go(after(7000), "a");
}

#[test]
fn without_a_named_time_each_probe_that_fails_waits_longer_up_to_half_a_minute() {
    let mut scene = Scene::closed(News::Throttled(None));
    let (mut now, mut waits) = (NOW, vec![scene.closed_for(NOW)]);
    for _ in 0..8 {
        now = scene.bucket.closed_until().unwrap();
        let probe = scene.go(now, "a");
        scene.tell(now, "a", probe, News::Throttled(Some(Duration::ZERO)));
        waits.push(scene.closed_for(now));
    }
    assert_eq!(waits, [500, 1000, 2000, 4000, 8000, 15_000, 15_000, 15_000, 15_000]);
    let probe = scene.go(now.plus(Duration::from_secs(15)), "a");
    scene.bucket.settle(now.plus(Duration::from_secs(15)), &holder("a"), probe, News::Down, 1.0);
    assert_eq!(scene.closed_for(now.plus(Duration::from_secs(15))), 30_000);
}

#[test]
fn those_who_were_under_way_lengthen_it_to_their_own_time_and_no_further() {
    let mut scene = Scene::default();
    let tickets: Vec<Ticket> = (0..5).map(|_| scene.go(NOW, "a")).collect();
    let told = [(retry_after(1000), 1000), (retry_after(300), 1000), (retry_after(1500), 1500)];
    for (ticket, (news, millis)) in tickets.iter().zip(told) {
        scene.tell(NOW, "a", *ticket, news);
        assert_eq!(scene.closed_for(NOW), millis, "{news:?}");
    }
    scene.tell(NOW, "a", tickets[3], News::Throttled(None));
    assert_eq!(scene.closed_for(NOW), 1500);
    let probe = scene.go(after(1500), "a");
    scene.tell(after(1500), "a", probe, News::Answered);
    scene.tell(after(1600), "a", tickets[4], retry_after(9000));
    assert_eq!(scene.bucket.closed_until(), None, "an old word does not close it again");
    assert_eq!(scene.bucket.under_way(), 0);
}

#[test]
fn a_probe_that_is_dropped_dies_or_takes_too_long_makes_place() {
    let mut scene = Scene::closed(retry_after(1000));
    let dropped = scene.go(after(1000), "a");
    scene.tell(after(1000), "a", dropped, News::Nothing);
    scene.go(after(1001), "b");
    scene.waits(after(1002), "a");
    scene.bucket.forget(after(1003), &holder("b"));
    let slow = scene.go(after(1004), "a");
    scene.waits(after(60_000), "c");
    let next = scene.go(after(61_004), "c");
    scene.tell(after(61_005), "a", slow, retry_after(5000));
    assert!(scene.bucket.is_probe(next), "who took too long has no say");
    scene.tell(after(61_006), "c", next, News::Answered);
    assert_eq!(scene.bucket.closed_until(), None);
}

#[test]
fn a_quota_parks_everybody_and_then_one_probes() {
    let reset = after(7_200_000);
    let mut scene = Scene::closed(News::Quota(reset));
    for millis in [0, 1000, 7_199_999] {
        assert_eq!(scene.ask(after(millis), "b"), Entrance::Park(reset));
    }
    let probe = scene.go(reset, "b");
    scene.waits(reset, "a");
    scene.tell(reset, "b", probe, News::Quota(after(9_000_000)));
    assert_eq!(scene.ask(reset, "a"), Entrance::Park(after(9_000_000)));
}

#[test]
fn a_quota_counts_whoever_meets_it() {
    let mut scene = Scene::default();
    let (first, second) = (scene.go(NOW, "a"), scene.go(NOW, "b"));
    scene.tell(NOW, "a", first, retry_after(500));
    scene.tell(NOW, "b", second, News::Quota(after(5000)));
    assert_eq!(scene.ask(after(500), "a"), Entrance::Park(after(5000)));
}

#[test]
fn a_long_time_is_not_waited_for_and_no_word_closes_for_ever() {
    let mut scene = Scene::closed(retry_after(60_000));
    scene.waits(NOW, "b");
    let mut scene = Scene::closed(retry_after(60_001));
    assert!(matches!(scene.ask(NOW, "b"), Entrance::Park(_)));
    let scene = Scene::closed(News::Quota(At(u64::MAX)));
    assert_eq!(scene.closed_for(NOW), 31 * 24 * 3_600_000);
}

#[test]
fn three_faults_in_a_row_close_it_and_an_answer_between_them_does_not() {
    let mut scene = Scene::default();
    for news in [News::Down, News::Down, News::Answered, News::Down, News::Refused, News::Down, News::Down] {
        let ticket = scene.go(NOW, "a");
        scene.tell(NOW, "a", ticket, news);
        assert_eq!(scene.bucket.closed_until(), None);
    }
    let ticket = scene.go(NOW, "a");
    scene.tell(NOW, "a", ticket, News::Down);
    assert_eq!(scene.closed_for(NOW), 500);
    let probe = scene.go(after(500), "b");
    scene.tell(after(500), "b", probe, News::Answered);
    scene.go(after(500), "a");
    scene.go(after(500), "a");
}

#[test]
fn one_key_that_is_refused_stops_nobody_else() {
    let mut scene = Scene::default();
    for _ in 0..10 {
        let ticket = scene.go(NOW, "a");
        scene.tell(NOW, "a", ticket, News::Refused);
    }
    scene.go(NOW, "b");
}

#[test]
fn after_a_throttle_requests_start_one_after_the_other_at_the_rate_that_passed() {
    let mut scene = Scene::default();
    for n in 0..20 {
        let ticket = scene.go(after(10 * n), "a");
        scene.tell(after(10 * n), "a", ticket, News::Answered);
    }
    let ticket = scene.go(after(200), "a");
    scene.tell(after(200), "a", ticket, retry_after(1000));
    let probe = scene.go(after(1200), "a");
    scene.tell(after(1200), "a", probe, News::Answered);
    let (mut now, mut starts) = (after(1200), Vec::new());
    while now < after(1600) {
        match scene.ask(now, "a") {
            Entrance::Go(_) => starts.push(now.since(after(1200)).as_millis()),
            Entrance::Wait(at) => now = at,
            Entrance::Park(at) => panic!("{at}"),
        }
    }
    // Twenty passed within the last second; nine tenths of that is a start every 56 ms.
    assert_eq!(starts, [56, 112, 167, 223, 278, 334, 389]);
}

#[test]
fn holders_take_turns_and_one_that_does_not_come_loses_its_turn() {
    let mut scene = Scene::default();
    let mut ask = |at, who: &str| scene.bucket.admit(at, &holder(who), Some(1));
    let Entrance::Go(first) = ask(NOW, "a") else { panic!() };
    assert!(matches!(ask(NOW, "b"), Entrance::Wait(_)));
    assert!(matches!(ask(NOW, "a"), Entrance::Wait(_)));
    assert!(matches!(ask(NOW, "c"), Entrance::Wait(_)));
    scene.bucket.settle(after(10), &holder("a"), first, News::Answered, 0.0);
    let mut ask = |at, who: &str| scene.bucket.admit(at, &holder(who), Some(1));
    assert!(matches!(ask(after(10), "a"), Entrance::Wait(_)), "it is the turn of b");
    assert!(matches!(ask(after(100), "c"), Entrance::Wait(_)));
    assert!(matches!(ask(after(161), "c"), Entrance::Go(_)), "b and a did not come");
    assert!(matches!(ask(after(162), "b"), Entrance::Wait(_)));
}

#[test]
fn a_holder_that_died_leaves_its_places() {
    let mut scene = Scene::default();
    (0..32).for_each(|_| assert!(matches!(scene.ask(NOW, "dead"), Entrance::Go(_))));
    scene.waits(NOW, "dead");
    scene.waits(NOW, "b");
    assert_eq!(scene.bucket.holders().count(), 2);
    scene.bucket.forget(NOW, &holder("dead"));
    assert!(!scene.bucket.is_waiting(&holder("dead")));
    scene.go(NOW, "b");
}

#[test]
fn a_clock_that_is_set_back_keeps_nobody_out_for_longer() {
    let mut scene = Scene::closed(retry_after(5000));
    scene.waits(after(1000), "a");
    let back = At(NOW.0 - 3_600_000);
    scene.waits(back, "a");
    assert_eq!(scene.closed_for(back), 4000);
    let probe = scene.go(back.plus(Duration::from_secs(4)), "a");
    scene.tell(back.plus(Duration::from_secs(4)), "a", probe, News::Answered);
    let earlier = At(NOW.0 - 7_200_000);
    scene.waits(earlier, "a");
    scene.go(earlier.plus(Duration::from_secs(4)), "a");

    let mut quota = Scene::closed(News::Quota(after(9000)));
    assert_eq!(quota.ask(back, "a"), Entrance::Park(after(9000)));
}

#[test]
fn what_was_learnt_is_forgotten_after_a_pause_but_not_a_quota() {
    let mut scene = Scene::closed(retry_after(1000));
    let probe = scene.go(after(1000), "a");
    scene.tell(after(1000), "a", probe, News::Answered);
    assert_eq!(scene.bucket.window(), 16);
    scene.go(after(700_000), "a");
    assert_eq!(scene.bucket.window(), 32);
    scene.go(after(700_000), "a");

    let mut quota = Scene::closed(News::Quota(after(7_200_000)));
    assert!(matches!(quota.ask(after(3_600_000), "a"), Entrance::Park(_)));
}
