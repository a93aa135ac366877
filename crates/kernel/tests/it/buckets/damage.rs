//! A bucket is read from a file: wrong numbers in it must do no harm.

use bosun_kernel::RateBucket;
use bosun_kernel::bucket::{AdmitDecision, RequestOutcome};
use serde_json::Value;

use super::fixture::{BucketFixture, NOW, after, holder, retry_after};

/// Collects the path to every number in a value.
fn collect_numbers(value: &Value, path: &str, paths: &mut Vec<String>) {
    match value {
        Value::Number(_) => paths.push(path.into()),
        Value::Object(fields) => {
            fields.iter().for_each(|(name, field)| collect_numbers(field, &format!("{path}/{name}"), paths))
        }
        Value::Array(items) => {
            (0..).zip(items).for_each(|(n, item)| collect_numbers(item, &format!("{path}/{n}"), paths))
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// Applies all kinds of outcomes to a bucket.
fn exercise(bucket: &mut RateBucket) {
    let all = [
        RequestOutcome::Answered,
        retry_after(1000),
        RequestOutcome::Down,
        RequestOutcome::Quota(after(500)),
        RequestOutcome::Refused,
        RequestOutcome::Abandoned,
    ];
    for (n, outcome) in (0..2000).zip(all.into_iter().cycle()) {
        let now = after(n * 100);
        if let AdmitDecision::Go(permit) = bucket.admit(now, &holder("a"), None) {
            bucket.note_answering(now, permit);
            bucket.settle(now, &holder("a"), permit, outcome, 0.5);
        }
    }
    bucket.forget(NOW, &holder("a"));
}

#[test]
fn wrong_numbers_do_no_harm() {
    let mut paced = BucketFixture::closed(retry_after(1000));
    let probe = paced.expect_permit(after(1000), "a");
    paced.expect_wait(after(1000), "b");
    let probed = paced.bucket.clone();
    paced.settle(after(1000), "a", probe, RequestOutcome::Answered);
    paced.expect_permit(after(3000), "a");
    for bucket in
        [RateBucket::default(), BucketFixture::closed(RequestOutcome::Quota(after(9000))).bucket, probed, paced.bucket]
    {
        let whole = serde_json::to_value(&bucket).unwrap();
        let mut paths = Vec::new();
        collect_numbers(&whole, "", &mut paths);
        for path in paths {
            for number in [0, 1, 99, u64::from(u32::MAX), u64::MAX] {
                let mut damaged = whole.clone();
                *damaged.pointer_mut(&path).unwrap() = number.into();
                if let Ok(mut bucket) = serde_json::from_value(damaged) {
                    exercise(&mut bucket);
                }
            }
        }
    }
}
