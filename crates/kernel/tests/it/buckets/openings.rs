//! Who is let into an open bucket.

use std::time::Duration;

use bosun_kernel::bucket::{AdmitDecision, RequestOutcome, RequestPermit};
use protocol::Timestamp;

use super::scene::{NOW, Scene, after, holder, retry_after};

#[test]
fn the_window_begins_at_thirty_two_and_doubles_while_it_is_too_small() {
    let mut scene = Scene::default();
    for size in [32, 64, 128] {
        let permits: Vec<RequestPermit> = (0..size).map(|_| scene.go(NOW, "a")).collect();
        scene.waits(NOW, "a");
        permits.into_iter().for_each(|permit| scene.tell(NOW, "a", permit, RequestOutcome::Answered));
    }
    assert_eq!(scene.bucket.window(), 256);
}

#[test]
fn a_window_that_nobody_needs_stays() {
    let mut scene = Scene::default();
    for _ in 0..1000 {
        let permit = scene.go(NOW, "a");
        scene.tell(NOW, "a", permit, RequestOutcome::Answered);
    }
    assert_eq!(scene.bucket.window(), 32);
}

#[test]
fn after_a_throttle_requests_start_one_after_the_other_at_the_rate_that_passed() {
    let mut scene = Scene::default();
    for n in 0..20 {
        let permit = scene.go(after(10 * n), "a");
        scene.tell(after(10 * n), "a", permit, RequestOutcome::Answered);
    }
    let permit = scene.go(after(200), "a");
    scene.tell(after(200), "a", permit, retry_after(1000));
    let probe = scene.go(after(1200), "a");
    scene.tell(after(1200), "a", probe, RequestOutcome::Answered);
    let (mut now, mut starts) = (after(1200), Vec::new());
    while now < after(1600) {
        match scene.ask(now, "a") {
            AdmitDecision::Go(_) => starts.push(now.since(after(1200)).as_millis()),
            AdmitDecision::Wait(at) => now = at,
            AdmitDecision::Park(at) => panic!("{at}"),
        }
    }
    // Twenty passed within the last second; nine tenths of that is a start every 56 ms.
    assert_eq!(starts, [56, 112, 167, 223, 278, 334, 389]);
}

#[test]
fn holders_take_turns_and_one_that_does_not_come_loses_its_turn() {
    let mut scene = Scene::default();
    let mut ask = |at, who: &str| scene.bucket.admit(at, &holder(who), Some(1));
    let AdmitDecision::Go(first) = ask(NOW, "a") else { panic!() };
    assert!(matches!(ask(NOW, "b"), AdmitDecision::Wait(_)));
    assert!(matches!(ask(NOW, "a"), AdmitDecision::Wait(_)));
    assert!(matches!(ask(NOW, "c"), AdmitDecision::Wait(_)));
    scene.bucket.settle(after(10), &holder("a"), first, RequestOutcome::Answered, 0.0);
    let mut ask = |at, who: &str| scene.bucket.admit(at, &holder(who), Some(1));
    assert!(matches!(ask(after(10), "a"), AdmitDecision::Wait(_)), "it is the turn of b");
    assert!(matches!(ask(after(100), "c"), AdmitDecision::Wait(_)));
    assert!(matches!(ask(after(161), "c"), AdmitDecision::Go(_)), "b and a did not come");
    assert!(matches!(ask(after(162), "b"), AdmitDecision::Wait(_)));
}

#[test]
fn a_holder_that_died_leaves_its_places() {
    let mut scene = Scene::default();
    (0..32).for_each(|_| assert!(matches!(scene.ask(NOW, "dead"), AdmitDecision::Go(_))));
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
    let back = Timestamp(NOW.0 - 3_600_000);
    scene.waits(back, "a");
    assert_eq!(scene.closed_for(back), 4000);
    let probe = scene.go(back.plus(Duration::from_secs(4)), "a");
    scene.tell(back.plus(Duration::from_secs(4)), "a", probe, RequestOutcome::Answered);
    let earlier = Timestamp(NOW.0 - 7_200_000);
    scene.waits(earlier, "a");
    scene.go(earlier.plus(Duration::from_secs(4)), "a");

    let mut quota = Scene::closed(RequestOutcome::Quota(after(9000)));
    assert_eq!(quota.ask(back, "a"), AdmitDecision::Park(after(9000)));
}

#[test]
fn what_was_learnt_is_forgotten_after_a_pause_but_not_a_quota() {
    let mut scene = Scene::closed(retry_after(1000));
    let probe = scene.go(after(1000), "a");
    scene.tell(after(1000), "a", probe, RequestOutcome::Answered);
    assert_eq!(scene.bucket.window(), 16);
    scene.go(after(700_000), "a");
    assert_eq!(scene.bucket.window(), 32);
    scene.go(after(700_000), "a");

    let mut quota = Scene::closed(RequestOutcome::Quota(after(7_200_000)));
    assert!(matches!(quota.ask(after(3_600_000), "a"), AdmitDecision::Park(_)));
}
