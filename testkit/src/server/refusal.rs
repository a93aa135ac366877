//! Refusals: the statuses, headers and bodies with which each provider fails.

use std::time::Duration;

use host::{Clock, SystemClock};
use model::{ModelError, WireFormat};
use protocol::{ModelFault, Timestamp};
use serde_json::{Value, json};

use super::Hint;
use super::http::FullResponse;

/// Why a request is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RequestRefusal {
    /// The request is not valid.
    Invalid(String),
    /// The conversation is longer than the model allows.
    TooLong { tokens: u64, most: u64 },
    /// The key is wrong.
    Auth(String),
    /// Too many requests.
    Busy { message: String, retry_after: Option<Duration> },
    /// A quota is exhausted.
    Quota { message: String, until: Timestamp },
    /// Another error, by its status.
    Other { status: u16, message: String, retry_after: Option<Duration> },
    /// An HTML page, as from a proxy.
    Html,
}

impl RequestRefusal {
    /// A conversation that is longer than any model allows.
    pub(super) const TOO_LONG: RequestRefusal = RequestRefusal::TooLong { tokens: 300_000, most: 200_000 };

    pub(super) fn of_status(status: u16, retry_after: Option<Duration>) -> RequestRefusal {
        match status {
            401 => RequestRefusal::Auth("the key was taken back".into()),
            429 => RequestRefusal::Busy { message: "too many requests".into(), retry_after },
            _ => RequestRefusal::Other { status, message: format!("the server fails with {status}"), retry_after },
        }
    }

    pub(super) fn of_quota(after: Duration) -> RequestRefusal {
        RequestRefusal::Quota { message: "the quota is used up".into(), until: SystemClock.now().plus(after) }
    }

    pub(super) fn of_limit(wait: Duration, hint: Hint) -> RequestRefusal {
        let retry_after = match hint {
            Hint::RetryAfter => Some(wait),
            Hint::Silent => None,
        };
        RequestRefusal::Busy { message: "too many requests in this second".into(), retry_after }
    }

    /// A failure of the script, as a provider would report it.
    pub(super) fn of_script(error: &ModelError) -> RequestRefusal {
        let message = error.message.clone();
        match error.fault {
            ModelFault::RetryAfter { millis } => {
                let retry_after = (millis > 0).then(|| Duration::from_millis(millis));
                RequestRefusal::Busy { message, retry_after }
            }
            ModelFault::QuotaUntil { until_at } => RequestRefusal::Quota { message, until: until_at },
            ModelFault::Auth => RequestRefusal::Auth(message),
            ModelFault::TooLong => RequestRefusal::TOO_LONG,
            ModelFault::Terminal => RequestRefusal::Invalid(message),
            ModelFault::Transient
            | ModelFault::Unreachable
            | ModelFault::Overloaded
            | ModelFault::Cancelled
            | ModelFault::Interrupted => RequestRefusal::Other { status: 500, message, retry_after: None },
        }
    }

    /// The complete response.
    pub(super) fn page(&self, wire: WireFormat, number: u64) -> FullResponse {
        if *self == RequestRefusal::Html {
            let body = b"<html><head><title>502 Bad Gateway</title></head><body>nothing here</body></html>".to_vec();
            return FullResponse { status: 502, headers: Vec::new(), kind: "text/html", body };
        }
        let mut body = self.body(wire);
        if wire == WireFormat::Anthropic {
            body["request_id"] = format!("req_{number}").into();
        }
        FullResponse { headers: self.headers(wire), ..FullResponse::json(self.status(), &body) }
    }

    /// The error as in an event of a stream.
    pub(super) fn body(&self, wire: WireFormat) -> Value {
        let message = self.message();
        match wire {
            WireFormat::Anthropic => json!({ "type": "error", "error": { "type": self.kind(), "message": message } }),
            WireFormat::Responses | WireFormat::Chat => {
                let mut error =
                    json!({ "message": message, "type": self.openai_kind(), "param": null, "code": self.code() });
                if let RequestRefusal::Quota { until, .. } = self {
                    error["resets_at"] = seconds(*until).into();
                }
                json!({ "error": error })
            }
        }
    }

    pub(super) fn message(&self) -> String {
        match self {
            RequestRefusal::TooLong { tokens, most } => format!("prompt is too long: {tokens} tokens > {most} maximum"),
            RequestRefusal::Invalid(message)
            | RequestRefusal::Auth(message)
            | RequestRefusal::Busy { message, .. }
            | RequestRefusal::Quota { message, .. }
            | RequestRefusal::Other { message, .. } => message.clone(),
            RequestRefusal::Html => String::new(),
        }
    }

    fn status(&self) -> u16 {
        match self {
            RequestRefusal::Invalid(_) | RequestRefusal::TooLong { .. } => 400,
            RequestRefusal::Auth(_) => 401,
            RequestRefusal::Busy { .. } | RequestRefusal::Quota { .. } => 429,
            RequestRefusal::Other { status, .. } => *status,
            RequestRefusal::Html => 502,
        }
    }

    /// Anthropic's error type.
    fn kind(&self) -> &'static str {
        match self.status() {
            400 => "invalid_request_error",
            401 => "authentication_error",
            403 => "permission_error",
            404 => "not_found_error",
            413 => "request_too_large",
            429 => "rate_limit_error",
            529 => "overloaded_error",
            _ => "api_error",
        }
    }

    fn openai_kind(&self) -> &'static str {
        match self {
            RequestRefusal::Quota { .. } => "usage_limit_reached",
            RequestRefusal::Busy { .. } => "requests",
            RequestRefusal::Invalid(_) | RequestRefusal::TooLong { .. } | RequestRefusal::Auth(_) => {
                "invalid_request_error"
            }
            RequestRefusal::Other { status: ..500, .. } => "invalid_request_error",
            RequestRefusal::Other { .. } | RequestRefusal::Html => "server_error",
        }
    }

    pub(super) fn code(&self) -> Option<&'static str> {
        match self {
            RequestRefusal::TooLong { .. } => Some("context_length_exceeded"),
            RequestRefusal::Auth(_) => Some("invalid_api_key"),
            RequestRefusal::Busy { .. } => Some("rate_limit_exceeded"),
            RequestRefusal::Invalid(_)
            | RequestRefusal::Quota { .. }
            | RequestRefusal::Other { .. }
            | RequestRefusal::Html => None,
        }
    }

    fn headers(&self, wire: WireFormat) -> Vec<(&'static str, String)> {
        match self {
            RequestRefusal::Busy { retry_after: Some(after), .. }
            | RequestRefusal::Other { retry_after: Some(after), .. } => {
                let whole = after.as_millis().div_ceil(1000).max(1);
                vec![("retry-after", whole.to_string()), ("retry-after-ms", after.as_millis().to_string())]
            }
            RequestRefusal::Quota { until, .. } if wire == WireFormat::Anthropic => vec![
                ("anthropic-ratelimit-unified-status", "rejected".into()),
                ("anthropic-ratelimit-unified-reset", seconds(*until).to_string()),
            ],
            RequestRefusal::Busy { .. }
            | RequestRefusal::Other { .. }
            | RequestRefusal::Quota { .. }
            | RequestRefusal::Invalid(_)
            | RequestRefusal::TooLong { .. }
            | RequestRefusal::Auth(_)
            | RequestRefusal::Html => Vec::new(),
        }
    }
}

/// A timestamp in whole seconds, rounded up.
fn seconds(at: Timestamp) -> u64 {
    at.0.div_ceil(1000)
}
