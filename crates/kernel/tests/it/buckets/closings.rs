//! Closing of a bucket: what closes it, for how long, and what opens it.

use std::time::Duration;

use bosun_kernel::bucket::{AdmitDecision, RequestOutcome, RequestPermit};
use protocol::Timestamp;

use super::fixture::{BucketFixture, NOW, after, holder, retry_after};

#[test]
fn a_retry_after_time_applies_to_all_holders_and_then_one_probes() {
    let mut fixture = BucketFixture::closed(retry_after(2000));
    assert_eq!(fixture.expect_wait(after(100), "b"), after(2000));
    fixture.expect_wait(after(1999), "a");
    let probe = fixture.expect_permit(after(2000), "b");
    assert!(fixture.bucket.is_probe(probe));
    fixture.expect_wait(after(2000), "a");
    fixture.expect_wait(after(2500), "c");
    fixture.bucket.note_answering(after(2600), probe);
    assert_eq!(fixture.bucket.closed_until(), None);
    fixture.expect_permit(after(7000), "a");
}

#[test]
fn without_a_retry_after_time_the_wait_doubles_with_each_failed_probe_up_to_30_seconds() {
    let mut fixture = BucketFixture::closed(RequestOutcome::Throttled(None));
    let (mut now, mut waits) = (NOW, vec![fixture.closed_for(NOW)]);
    for _ in 0..8 {
        now = fixture.bucket.closed_until().unwrap();
        let probe = fixture.expect_permit(now, "a");
        // A retry-after time of zero counts as none.
        fixture.settle(now, "a", probe, RequestOutcome::Throttled(Some(Duration::ZERO)));
        waits.push(fixture.closed_for(now));
    }
    // The fixture settles with a jitter of 0.0, which halves the waits.
    assert_eq!(waits, [500, 1000, 2000, 4000, 8000, 15_000, 15_000, 15_000, 15_000]);
    let (reopening, jitter) = (now.plus(Duration::from_secs(15)), 1.0);
    let probe = fixture.expect_permit(reopening, "a");
    fixture.bucket.settle(reopening, &holder("a"), probe, RequestOutcome::Down, jitter);
    assert_eq!(fixture.closed_for(reopening), 30_000);
}

#[test]
fn requests_in_progress_extend_a_closing_only_to_their_own_retry_after_time() {
    let mut fixture = BucketFixture::default();
    let permits: Vec<RequestPermit> = (0..5).map(|_| fixture.expect_permit(NOW, "a")).collect();
    let outcomes = [(retry_after(1000), 1000), (retry_after(300), 1000), (retry_after(1500), 1500)];
    for (permit, (outcome, millis)) in permits.iter().zip(outcomes) {
        fixture.settle(NOW, "a", *permit, outcome);
        assert_eq!(fixture.closed_for(NOW), millis, "{outcome:?}");
    }
    fixture.settle(NOW, "a", permits[3], RequestOutcome::Throttled(None));
    assert_eq!(fixture.closed_for(NOW), 1500);
    let probe = fixture.expect_permit(after(1500), "a");
    fixture.settle(after(1500), "a", probe, RequestOutcome::Answered);
    fixture.settle(after(1600), "a", permits[4], retry_after(9000));
    assert_eq!(fixture.bucket.closed_until(), None, "an old outcome does not close it again");
    assert_eq!(fixture.bucket.requests_in_progress(), 0);
}

#[test]
fn another_probe_may_start_if_one_is_abandoned_or_slow_or_its_holder_is_gone() {
    let mut fixture = BucketFixture::closed(retry_after(1000));
    let abandoned = fixture.expect_permit(after(1000), "a");
    fixture.settle(after(1000), "a", abandoned, RequestOutcome::Abandoned);
    fixture.expect_permit(after(1001), "b");
    fixture.expect_wait(after(1002), "a");
    fixture.bucket.forget(after(1003), &holder("b"));
    let slow = fixture.expect_permit(after(1004), "a");
    fixture.expect_wait(after(60_000), "c");
    let next = fixture.expect_permit(after(61_004), "c");
    fixture.settle(after(61_005), "a", slow, retry_after(5000));
    assert!(fixture.bucket.is_probe(next), "the outcome of a slow probe is ignored");
    fixture.settle(after(61_006), "c", next, RequestOutcome::Answered);
    assert_eq!(fixture.bucket.closed_until(), None);
}

#[test]
fn a_quota_parks_all_holders_and_then_one_probes() {
    let reset = after(7_200_000);
    let mut fixture = BucketFixture::closed(RequestOutcome::Quota(reset));
    for millis in [0, 1000, 7_199_999] {
        assert_eq!(fixture.admit(after(millis), "b"), AdmitDecision::Park(reset));
    }
    let probe = fixture.expect_permit(reset, "b");
    fixture.expect_wait(reset, "a");
    fixture.settle(reset, "b", probe, RequestOutcome::Quota(after(9_000_000)));
    assert_eq!(fixture.admit(reset, "a"), AdmitDecision::Park(after(9_000_000)));
}

#[test]
fn a_quota_applies_even_if_a_request_that_is_not_the_probe_reports_it() {
    let mut fixture = BucketFixture::default();
    let (first, second) = (fixture.expect_permit(NOW, "a"), fixture.expect_permit(NOW, "b"));
    fixture.settle(NOW, "a", first, retry_after(500));
    fixture.settle(NOW, "b", second, RequestOutcome::Quota(after(5000)));
    assert_eq!(fixture.admit(after(500), "a"), AdmitDecision::Park(after(5000)));
}

#[test]
fn holders_park_if_a_closing_is_longer_than_a_minute_and_it_lasts_at_most_31_days() {
    let mut fixture = BucketFixture::closed(retry_after(60_000));
    fixture.expect_wait(NOW, "b");
    let mut fixture = BucketFixture::closed(retry_after(60_001));
    assert!(matches!(fixture.admit(NOW, "b"), AdmitDecision::Park(_)));
    let fixture = BucketFixture::closed(RequestOutcome::Quota(Timestamp(u64::MAX)));
    assert_eq!(fixture.closed_for(NOW), 31 * 24 * 3_600_000);
}

#[test]
fn three_failures_close_a_bucket_unless_an_answer_or_a_refusal_comes_between_them() {
    let mut fixture = BucketFixture::default();
    for outcome in [
        RequestOutcome::Down,
        RequestOutcome::Down,
        RequestOutcome::Answered,
        RequestOutcome::Down,
        RequestOutcome::Refused,
        RequestOutcome::Down,
        RequestOutcome::Down,
    ] {
        let permit = fixture.expect_permit(NOW, "a");
        fixture.settle(NOW, "a", permit, outcome);
        assert_eq!(fixture.bucket.closed_until(), None);
    }
    let permit = fixture.expect_permit(NOW, "a");
    fixture.settle(NOW, "a", permit, RequestOutcome::Down);
    assert_eq!(fixture.closed_for(NOW), 500);
    let probe = fixture.expect_permit(after(500), "b");
    fixture.settle(after(500), "b", probe, RequestOutcome::Answered);
    fixture.expect_permit(after(500), "a");
    fixture.expect_permit(after(500), "a");
}

#[test]
fn refused_requests_do_not_close_a_bucket() {
    let mut fixture = BucketFixture::default();
    for _ in 0..10 {
        let permit = fixture.expect_permit(NOW, "a");
        fixture.settle(NOW, "a", permit, RequestOutcome::Refused);
    }
    fixture.expect_permit(NOW, "b");
}
