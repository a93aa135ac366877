//! What closes a bucket, for how long, and what opens it.

use std::time::Duration;

use bosun_kernel::bucket::{AdmitDecision, RequestOutcome, RequestPermit};
use protocol::Timestamp;

use super::scene::{NOW, Scene, after, holder, retry_after};

#[test]
fn a_named_time_holds_for_everybody_and_then_one_probes() {
    let mut scene = Scene::closed(retry_after(2000));
    assert_eq!(scene.waits(after(100), "b"), after(2000));
    scene.waits(after(1999), "a");
    let probe = scene.go(after(2000), "b");
    assert!(scene.bucket.is_probe(probe));
    scene.waits(after(2000), "a");
    scene.waits(after(2500), "c");
    scene.bucket.note_answering(after(2600), probe);
    assert_eq!(scene.bucket.closed_until(), None);
    scene.go(after(7000), "a");
}

#[test]
fn without_a_named_time_each_probe_that_fails_waits_longer_up_to_half_a_minute() {
    let mut scene = Scene::closed(RequestOutcome::Throttled(None));
    let (mut now, mut waits) = (NOW, vec![scene.closed_for(NOW)]);
    for _ in 0..8 {
        now = scene.bucket.closed_until().unwrap();
        let probe = scene.go(now, "a");
        scene.tell(now, "a", probe, RequestOutcome::Throttled(Some(Duration::ZERO)));
        waits.push(scene.closed_for(now));
    }
    assert_eq!(waits, [500, 1000, 2000, 4000, 8000, 15_000, 15_000, 15_000, 15_000]);
    let probe = scene.go(now.plus(Duration::from_secs(15)), "a");
    scene.bucket.settle(now.plus(Duration::from_secs(15)), &holder("a"), probe, RequestOutcome::Down, 1.0);
    assert_eq!(scene.closed_for(now.plus(Duration::from_secs(15))), 30_000);
}

#[test]
fn those_who_were_under_way_lengthen_it_to_their_own_time_and_no_further() {
    let mut scene = Scene::default();
    let permits: Vec<RequestPermit> = (0..5).map(|_| scene.go(NOW, "a")).collect();
    let told = [(retry_after(1000), 1000), (retry_after(300), 1000), (retry_after(1500), 1500)];
    for (permit, (news, millis)) in permits.iter().zip(told) {
        scene.tell(NOW, "a", *permit, news);
        assert_eq!(scene.closed_for(NOW), millis, "{news:?}");
    }
    scene.tell(NOW, "a", permits[3], RequestOutcome::Throttled(None));
    assert_eq!(scene.closed_for(NOW), 1500);
    let probe = scene.go(after(1500), "a");
    scene.tell(after(1500), "a", probe, RequestOutcome::Answered);
    scene.tell(after(1600), "a", permits[4], retry_after(9000));
    assert_eq!(scene.bucket.closed_until(), None, "an old word does not close it again");
    assert_eq!(scene.bucket.requests_in_progress(), 0);
}

#[test]
fn a_probe_that_is_dropped_dies_or_takes_too_long_makes_place() {
    let mut scene = Scene::closed(retry_after(1000));
    let dropped = scene.go(after(1000), "a");
    scene.tell(after(1000), "a", dropped, RequestOutcome::Nothing);
    scene.go(after(1001), "b");
    scene.waits(after(1002), "a");
    scene.bucket.forget(after(1003), &holder("b"));
    let slow = scene.go(after(1004), "a");
    scene.waits(after(60_000), "c");
    let next = scene.go(after(61_004), "c");
    scene.tell(after(61_005), "a", slow, retry_after(5000));
    assert!(scene.bucket.is_probe(next), "who took too long has no say");
    scene.tell(after(61_006), "c", next, RequestOutcome::Answered);
    assert_eq!(scene.bucket.closed_until(), None);
}

#[test]
fn a_quota_parks_everybody_and_then_one_probes() {
    let reset = after(7_200_000);
    let mut scene = Scene::closed(RequestOutcome::Quota(reset));
    for millis in [0, 1000, 7_199_999] {
        assert_eq!(scene.ask(after(millis), "b"), AdmitDecision::Park(reset));
    }
    let probe = scene.go(reset, "b");
    scene.waits(reset, "a");
    scene.tell(reset, "b", probe, RequestOutcome::Quota(after(9_000_000)));
    assert_eq!(scene.ask(reset, "a"), AdmitDecision::Park(after(9_000_000)));
}

#[test]
fn a_quota_counts_whoever_meets_it() {
    let mut scene = Scene::default();
    let (first, second) = (scene.go(NOW, "a"), scene.go(NOW, "b"));
    scene.tell(NOW, "a", first, retry_after(500));
    scene.tell(NOW, "b", second, RequestOutcome::Quota(after(5000)));
    assert_eq!(scene.ask(after(500), "a"), AdmitDecision::Park(after(5000)));
}

#[test]
fn a_long_time_is_not_waited_for_and_no_word_closes_for_ever() {
    let mut scene = Scene::closed(retry_after(60_000));
    scene.waits(NOW, "b");
    let mut scene = Scene::closed(retry_after(60_001));
    assert!(matches!(scene.ask(NOW, "b"), AdmitDecision::Park(_)));
    let scene = Scene::closed(RequestOutcome::Quota(Timestamp(u64::MAX)));
    assert_eq!(scene.closed_for(NOW), 31 * 24 * 3_600_000);
}

#[test]
fn three_faults_in_a_row_close_it_and_an_answer_between_them_does_not() {
    let mut scene = Scene::default();
    for news in [
        RequestOutcome::Down,
        RequestOutcome::Down,
        RequestOutcome::Answered,
        RequestOutcome::Down,
        RequestOutcome::Refused,
        RequestOutcome::Down,
        RequestOutcome::Down,
    ] {
        let permit = scene.go(NOW, "a");
        scene.tell(NOW, "a", permit, news);
        assert_eq!(scene.bucket.closed_until(), None);
    }
    let permit = scene.go(NOW, "a");
    scene.tell(NOW, "a", permit, RequestOutcome::Down);
    assert_eq!(scene.closed_for(NOW), 500);
    let probe = scene.go(after(500), "b");
    scene.tell(after(500), "b", probe, RequestOutcome::Answered);
    scene.go(after(500), "a");
    scene.go(after(500), "a");
}

#[test]
fn one_key_that_is_refused_stops_nobody_else() {
    let mut scene = Scene::default();
    for _ in 0..10 {
        let permit = scene.go(NOW, "a");
        scene.tell(NOW, "a", permit, RequestOutcome::Refused);
    }
    scene.go(NOW, "b");
}
