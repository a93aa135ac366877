//! Admission of requests by an open bucket.

use std::time::Duration;

use bosun_kernel::bucket::{AdmitDecision, RequestOutcome, RequestPermit};
use protocol::Timestamp;

use super::fixture::{BucketFixture, NOW, after, holder, retry_after};

#[test]
fn the_window_starts_at_32_and_doubles_while_it_is_too_small() {
    let mut fixture = BucketFixture::default();
    for size in [32, 64, 128] {
        let permits: Vec<RequestPermit> = (0..size).map(|_| fixture.expect_permit(NOW, "a")).collect();
        fixture.expect_wait(NOW, "a");
        permits.into_iter().for_each(|permit| fixture.settle(NOW, "a", permit, RequestOutcome::Answered));
    }
    assert_eq!(fixture.bucket.window(), 256);
}

#[test]
fn a_window_that_is_not_full_does_not_grow() {
    let mut fixture = BucketFixture::default();
    for _ in 0..1000 {
        let permit = fixture.expect_permit(NOW, "a");
        fixture.settle(NOW, "a", permit, RequestOutcome::Answered);
    }
    assert_eq!(fixture.bucket.window(), 32);
}

#[test]
fn after_a_throttle_requests_start_at_about_the_accepted_rate() {
    let mut fixture = BucketFixture::default();
    for n in 0..20 {
        let permit = fixture.expect_permit(after(10 * n), "a");
        fixture.settle(after(10 * n), "a", permit, RequestOutcome::Answered);
    }
    let permit = fixture.expect_permit(after(200), "a");
    fixture.settle(after(200), "a", permit, retry_after(1000));
    let probe = fixture.expect_permit(after(1200), "a");
    fixture.settle(after(1200), "a", probe, RequestOutcome::Answered);
    let (mut now, mut starts) = (after(1200), Vec::new());
    while now < after(1600) {
        match fixture.admit(now, "a") {
            AdmitDecision::Go(_) => starts.push(now.since(after(1200)).as_millis()),
            AdmitDecision::Wait(at) => now = at,
            AdmitDecision::Park(at) => panic!("{at}"),
        }
    }
    // Twenty requests were accepted within the last second; nine tenths of that rate is a start every 56 ms.
    assert_eq!(starts, [56, 112, 167, 223, 278, 334, 389]);
}

#[test]
fn holders_take_turns_and_one_that_does_not_check_again_loses_its_turn() {
    let mut fixture = BucketFixture::default();
    let mut admit = |at, who: &str| fixture.bucket.admit(at, &holder(who), Some(1));
    let AdmitDecision::Go(first) = admit(NOW, "a") else { panic!() };
    assert!(matches!(admit(NOW, "b"), AdmitDecision::Wait(_)));
    assert!(matches!(admit(NOW, "a"), AdmitDecision::Wait(_)));
    assert!(matches!(admit(NOW, "c"), AdmitDecision::Wait(_)));
    fixture.bucket.settle(after(10), &holder("a"), first, RequestOutcome::Answered, 0.0);
    let mut admit = |at, who: &str| fixture.bucket.admit(at, &holder(who), Some(1));
    assert!(matches!(admit(after(10), "a"), AdmitDecision::Wait(_)), "it is the turn of b");
    assert!(matches!(admit(after(100), "c"), AdmitDecision::Wait(_)));
    assert!(matches!(admit(after(161), "c"), AdmitDecision::Go(_)), "b and a did not check again");
    assert!(matches!(admit(after(162), "b"), AdmitDecision::Wait(_)));
}

#[test]
fn forgetting_a_dead_holder_ends_its_requests() {
    let mut fixture = BucketFixture::default();
    (0..32).for_each(|_| assert!(matches!(fixture.admit(NOW, "dead"), AdmitDecision::Go(_))));
    fixture.expect_wait(NOW, "dead");
    fixture.expect_wait(NOW, "b");
    assert_eq!(fixture.bucket.holders().count(), 2);
    fixture.bucket.forget(NOW, &holder("dead"));
    assert!(!fixture.bucket.is_waiting(&holder("dead")));
    fixture.expect_permit(NOW, "b");
}

#[test]
fn setting_the_clock_back_does_not_extend_a_closing() {
    let mut fixture = BucketFixture::closed(retry_after(5000));
    fixture.expect_wait(after(1000), "a");
    let back = Timestamp(NOW.0 - 3_600_000);
    fixture.expect_wait(back, "a");
    assert_eq!(fixture.closed_for(back), 4000);
    let probe = fixture.expect_permit(back.plus(Duration::from_secs(4)), "a");
    fixture.settle(back.plus(Duration::from_secs(4)), "a", probe, RequestOutcome::Answered);
    let earlier = Timestamp(NOW.0 - 7_200_000);
    fixture.expect_wait(earlier, "a");
    fixture.expect_permit(earlier.plus(Duration::from_secs(4)), "a");

    let mut quota = BucketFixture::closed(RequestOutcome::Quota(after(9000)));
    assert_eq!(quota.admit(back, "a"), AdmitDecision::Park(after(9000)));
}

#[test]
fn after_a_pause_measurements_are_reset_but_a_quota_is_not() {
    let mut fixture = BucketFixture::closed(retry_after(1000));
    let probe = fixture.expect_permit(after(1000), "a");
    fixture.settle(after(1000), "a", probe, RequestOutcome::Answered);
    assert_eq!(fixture.bucket.window(), 16);
    fixture.expect_permit(after(700_000), "a");
    assert_eq!(fixture.bucket.window(), 32);
    fixture.expect_permit(after(700_000), "a");

    let mut quota = BucketFixture::closed(RequestOutcome::Quota(after(7_200_000)));
    assert!(matches!(quota.admit(after(3_600_000), "a"), AdmitDecision::Park(_)));
}
