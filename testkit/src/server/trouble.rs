//! Answers that are none: the statuses, headers and bodies that each wire's provider fails with.

use std::time::Duration;

use host::{Clock, SystemClock};
use model::{ModelError, Wire};
use protocol::{At, ModelFault};
use serde_json::{Value, json};

use super::Hint;
use super::http::Page;

/// Why a request is not answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Trouble {
    /// The request is wrong.
    Invalid(String),
    /// The conversation is longer than the model takes.
    TooLong { tokens: u64, most: u64 },
    /// The key is wrong.
    Auth(String),
    /// It was asked too often.
    Busy { message: String, retry_after: Option<Duration> },
    /// A quota is used up.
    Quota { message: String, until: At },
    /// Something else, by its status.
    Other { status: u16, message: String, retry_after: Option<Duration> },
    /// Something in between answers.
    Html,
}

impl Trouble {
    /// A conversation that is longer than any model takes.
    pub(super) const TOO_LONG: Trouble = Trouble::TooLong { tokens: 300_000, most: 200_000 };

    pub(super) fn of_status(status: u16, retry_after: Option<Duration>) -> Trouble {
        match status {
            401 => Trouble::Auth("the key was taken back".into()),
            429 => Trouble::Busy { message: "too many requests".into(), retry_after },
            _ => Trouble::Other { status, message: format!("the server fails with {status}"), retry_after },
        }
    }

    pub(super) fn of_quota(after: Duration) -> Trouble {
        Trouble::Quota { message: "the quota is used up".into(), until: SystemClock.now().plus(after) }
    }

    pub(super) fn of_limit(wait: Duration, hint: Hint) -> Trouble {
        let retry_after = match hint {
            Hint::RetryAfter => Some(wait),
            Hint::Silent => None,
        };
        Trouble::Busy { message: "too many requests in this second".into(), retry_after }
    }

    /// A failure of the script, as a provider would report it.
    pub(super) fn of_script(error: &ModelError) -> Trouble {
        let message = error.message.clone();
        match error.fault {
            ModelFault::RetryAfter { millis } => {
                let retry_after = (millis > 0).then(|| Duration::from_millis(millis));
                Trouble::Busy { message, retry_after }
            }
            ModelFault::QuotaUntil { until_at } => Trouble::Quota { message, until: until_at },
            ModelFault::Auth => Trouble::Auth(message),
            ModelFault::TooLong => Trouble::TOO_LONG,
            ModelFault::Terminal => Trouble::Invalid(message),
            ModelFault::Transient
            | ModelFault::Unreachable
            | ModelFault::Overloaded
            | ModelFault::Cancelled
            | ModelFault::Interrupted => Trouble::Other { status: 500, message, retry_after: None },
        }
    }

    /// The whole answer.
    pub(super) fn page(&self, wire: Wire, number: u64) -> Page {
        if *self == Trouble::Html {
            let body = b"<html><head><title>502 Bad Gateway</title></head><body>nothing here</body></html>".to_vec();
            return Page { status: 502, headers: Vec::new(), kind: "text/html", body };
        }
        let mut body = self.body(wire);
        if wire == Wire::Anthropic {
            body["request_id"] = format!("req_{number}").into();
        }
        Page { headers: self.headers(wire), ..Page::json(self.status(), &body) }
    }

    /// The error as an event of a stream holds it.
    pub(super) fn body(&self, wire: Wire) -> Value {
        let message = self.message();
        match wire {
            Wire::Anthropic => json!({ "type": "error", "error": { "type": self.kind(), "message": message } }),
            Wire::Responses | Wire::Chat => {
                let mut error =
                    json!({ "message": message, "type": self.openai_kind(), "param": null, "code": self.code() });
                if let Trouble::Quota { until, .. } = self {
                    error["resets_at"] = seconds(*until).into();
                }
                json!({ "error": error })
            }
        }
    }

    pub(super) fn message(&self) -> String {
        match self {
            Trouble::TooLong { tokens, most } => format!("prompt is too long: {tokens} tokens > {most} maximum"),
            Trouble::Invalid(message)
            | Trouble::Auth(message)
            | Trouble::Busy { message, .. }
            | Trouble::Quota { message, .. }
            | Trouble::Other { message, .. } => message.clone(),
            Trouble::Html => String::new(),
        }
    }

    fn status(&self) -> u16 {
        match self {
            Trouble::Invalid(_) | Trouble::TooLong { .. } => 400,
            Trouble::Auth(_) => 401,
            Trouble::Busy { .. } | Trouble::Quota { .. } => 429,
            Trouble::Other { status, .. } => *status,
            Trouble::Html => 502,
        }
    }

    /// Anthropic's word for it.
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
            Trouble::Quota { .. } => "usage_limit_reached",
            Trouble::Busy { .. } => "requests",
            Trouble::Invalid(_) | Trouble::TooLong { .. } | Trouble::Auth(_) => "invalid_request_error",
            Trouble::Other { status: ..500, .. } => "invalid_request_error",
            Trouble::Other { .. } | Trouble::Html => "server_error",
        }
    }

    pub(super) fn code(&self) -> Option<&'static str> {
        match self {
            Trouble::TooLong { .. } => Some("context_length_exceeded"),
            Trouble::Auth(_) => Some("invalid_api_key"),
            Trouble::Busy { .. } => Some("rate_limit_exceeded"),
            Trouble::Invalid(_) | Trouble::Quota { .. } | Trouble::Other { .. } | Trouble::Html => None,
        }
    }

    fn headers(&self, wire: Wire) -> Vec<(&'static str, String)> {
        match self {
            Trouble::Busy { retry_after: Some(after), .. } | Trouble::Other { retry_after: Some(after), .. } => {
                let whole = after.as_millis().div_ceil(1000).max(1);
                vec![("retry-after", whole.to_string()), ("retry-after-ms", after.as_millis().to_string())]
            }
            Trouble::Quota { until, .. } if wire == Wire::Anthropic => vec![
                ("anthropic-ratelimit-unified-status", "rejected".into()),
                ("anthropic-ratelimit-unified-reset", seconds(*until).to_string()),
            ],
            Trouble::Busy { .. }
            | Trouble::Other { .. }
            | Trouble::Quota { .. }
            | Trouble::Invalid(_)
            | Trouble::TooLong { .. }
            | Trouble::Auth(_)
            | Trouble::Html => Vec::new(),
        }
    }
}

/// The first whole second at which a moment has come.
fn seconds(at: At) -> u64 {
    at.0.div_ceil(1000)
}
