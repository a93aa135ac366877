//! A bucket is read from a file: numbers in it that make no sense do no harm.

use bosun_kernel::RateBucket;
use bosun_kernel::bucket::{AdmitDecision, RequestOutcome};
use serde_json::Value;

use super::scene::{NOW, Scene, after, holder, retry_after};

/// Every path to a number in a value.
fn numbers(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Number(_) => found.push(path.into()),
        Value::Object(fields) => {
            fields.iter().for_each(|(name, field)| numbers(field, &format!("{path}/{name}"), found))
        }
        Value::Array(items) => (0..).zip(items).for_each(|(n, item)| numbers(item, &format!("{path}/{n}"), found)),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// Everything that can happen to a bucket.
fn use_it(bucket: &mut RateBucket) {
    let all = [
        RequestOutcome::Answered,
        retry_after(1000),
        RequestOutcome::Down,
        RequestOutcome::Quota(after(500)),
        RequestOutcome::Refused,
        RequestOutcome::Nothing,
    ];
    for (n, news) in (0..2000).zip(all.into_iter().cycle()) {
        let now = after(n * 100);
        if let AdmitDecision::Go(permit) = bucket.admit(now, &holder("a"), None) {
            bucket.note_answering(now, permit);
            bucket.settle(now, &holder("a"), permit, news, 0.5);
        }
    }
    bucket.forget(NOW, &holder("a"));
}

#[test]
fn any_number_may_be_any_other() {
    let mut paced = Scene::closed(retry_after(1000));
    let probe = paced.go(after(1000), "a");
    paced.waits(after(1000), "b");
    let probed = paced.bucket.clone();
    paced.tell(after(1000), "a", probe, RequestOutcome::Answered);
    paced.go(after(3000), "a");
    for bucket in
        [RateBucket::default(), Scene::closed(RequestOutcome::Quota(after(9000))).bucket, probed, paced.bucket]
    {
        let whole = serde_json::to_value(&bucket).unwrap();
        let mut paths = Vec::new();
        numbers(&whole, "", &mut paths);
        for path in paths {
            for number in [0, 1, 99, u64::from(u32::MAX), u64::MAX] {
                let mut damaged = whole.clone();
                *damaged.pointer_mut(&path).unwrap() = number.into();
                if let Ok(mut bucket) = serde_json::from_value(damaged) {
                    use_it(&mut bucket);
                }
            }
        }
    }
}
