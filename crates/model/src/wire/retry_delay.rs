//! Reads from the headers how long a provider asks to wait.

use net::HttpResponse;
use protocol::Timestamp;

use super::date;

/// How long to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RetryDelay {
    /// Before another try.
    pub(super) millis: Option<u64>,
    /// Until a used-up quota resets.
    pub(super) quota_until: Option<Timestamp>,
}

/// No delay was given.
pub(super) const NONE: RetryDelay = RetryDelay { millis: None, quota_until: None };

/// Longer delays are clipped to this.
const MAX_DELAY_MILLIS: u64 = 30 * 86_400_000;

/// Reads the headers of an answer to a request sent at `at`.
pub(super) fn from_response(answer: &HttpResponse, at: Timestamp) -> RetryDelay {
    from_headers(|name| answer.header(name), at)
}

fn from_headers<'a>(header: impl Fn(&'static str) -> Option<&'a str>, at: Timestamp) -> RetryDelay {
    let millis = header("retry-after-ms").and_then(|value| parse_millis(value, 1.0));
    let seconds = || header("retry-after").and_then(|value| parse_millis(value, 1000.0));
    let date =
        || header("retry-after").and_then(date::parse).map(|until| until.0.saturating_sub(at.0).min(MAX_DELAY_MILLIS));
    RetryDelay { millis: millis.or_else(seconds).or_else(date), quota_until: quota_reset(header, at) }
}

fn quota_reset<'a>(header: impl Fn(&'static str) -> Option<&'a str>, at: Timestamp) -> Option<Timestamp> {
    let is_rejected = header("anthropic-ratelimit-unified-status") == Some("rejected");
    let seconds: u64 = header("anthropic-ratelimit-unified-reset")?.trim().parse().ok()?;
    let until = Timestamp(seconds.saturating_mul(1000));
    (is_rejected && until > at).then_some(until)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it is not negative, and the rest saturates"
)]
fn parse_millis(text: &str, unit: f64) -> Option<u64> {
    let number: f64 = text.trim().parse().ok()?;
    (number >= 0.0).then(|| ((number * unit).ceil() as u64).min(MAX_DELAY_MILLIS))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delay(headers: &[(&str, &'static str)]) -> RetryDelay {
        from_headers(
            |name| headers.iter().find(|(key, _)| *key == name).map(|(_, value)| *value),
            Timestamp(784_111_770_000),
        )
    }

    #[test]
    fn every_form_of_delay_is_read() {
        for (headers, millis) in [
            (&[("retry-after", "2")][..], Some(2_000)),
            (&[("retry-after", "0.25")], Some(250)),
            (&[("retry-after", "2"), ("retry-after-ms", "1200.5")], Some(1_201)),
            (&[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")], Some(7_000)),
            (&[("retry-after", "Sun, 06 Nov 1993 08:49:37 GMT")], Some(0)),
            (&[("retry-after", "-1")], None),
            (&[("retry-after", "NaN")], None),
            (&[("retry-after", "soon")], None),
            (&[("retry-after", "1e300")], Some(2_592_000_000)),
            (&[], None),
        ] {
            assert_eq!(delay(headers).millis, millis, "{headers:?}");
        }
    }

    #[test]
    fn a_quota_counts_only_when_it_was_the_reason() {
        let reset = ("anthropic-ratelimit-unified-reset", "784111999");
        let status = |status| ("anthropic-ratelimit-unified-status", status);
        assert_eq!(delay(&[reset, status("rejected")]).quota_until, Some(Timestamp(784_111_999_000)));
        assert_eq!(delay(&[reset, status("allowed")]).quota_until, None);
        assert_eq!(delay(&[("anthropic-ratelimit-unified-reset", "1"), status("rejected")]).quota_until, None);
    }
}
