//! What went wrong at a provider, in the classes that decide what happens next.

use std::time::Duration;

use net::{ConnectProblem, HttpResponse, NetError};
use protocol::{ModelFault, Timestamp};
use serde_json::Value;

use super::delta_queue::StreamError;
use super::endpoint::ModelEndpoint;
use super::report::ErrorReport;
use super::{error_phrases, retry_delay};
use crate::{ModelError, ModelReply, Provider, ProviderKey};

/// Most bytes that are read of an error's body.
const MAX_ERROR_BYTES: usize = 64 << 10;

/// How long an error's body is waited for; one that drips would otherwise never end.
const ERROR_BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// No answer came from the network. What a server put into the error is quoted like its other words.
pub(super) fn from_net(place: &ModelEndpoint, error: &NetError) -> ModelError {
    let fault = match error {
        NetError::Connect { problem: ConnectProblem::Untrusted(_), .. } => ModelFault::Terminal,
        NetError::Connect { .. } => ModelFault::Unreachable,
        NetError::FirstByte { .. } | NetError::Idle { .. } | NetError::ConnectionLost { .. } => ModelFault::Transient,
        NetError::Url { .. }
        | NetError::Header { .. }
        | NetError::Proxy { .. }
        | NetError::Certificates { .. }
        | NetError::Moved { .. } => ModelFault::Terminal,
    };
    let words = ModelError::new(fault, place.quote(&error.to_string()));
    match error {
        // It has the whole question and may be at work on it.
        NetError::FirstByte { .. } => words.after_start(),
        NetError::Url { .. }
        | NetError::Header { .. }
        | NetError::Proxy { .. }
        | NetError::Certificates { .. }
        | NetError::Connect { .. }
        | NetError::Idle { .. }
        | NetError::Moved { .. }
        | NetError::ConnectionLost { .. } => words,
    }
}

/// The provider answered with an error to a request of the moment `at`.
pub(super) async fn from_response(place: &ModelEndpoint, answer: HttpResponse, at: Timestamp) -> ModelError {
    let status = answer.status();
    let pause = retry_delay::read(&answer, at);
    let body = answer.excerpt(MAX_ERROR_BYTES, ERROR_BODY_TIMEOUT).await;
    let report = ErrorReport::from_body(&body, at);
    classify(place, Some(status), pause, &report)
}

/// The provider answered well, but with a page or a whole object instead of a stream.
pub(super) async fn from_unexpected_body(place: &ModelEndpoint, answer: HttpResponse, at: Timestamp) -> ModelError {
    let kind = answer.header("content-type").unwrap_or_default().to_owned();
    let body = answer.excerpt(MAX_ERROR_BYTES, ERROR_BODY_TIMEOUT).await;
    match serde_json::from_str::<Value>(&body) {
        Ok(value) if value.get("error").is_some_and(|error| !error.is_null()) => from_report(place, &value, at),
        Ok(_) | Err(_) => {
            let ModelEndpoint { provider, config: Provider { base_url, .. }, .. } = place;
            let message = format!("{provider} answered with {}, not with a stream of events", place.quote(&kind));
            ModelError::new(ModelFault::Terminal, message).with_hint(format!("check the address {base_url}"))
        }
    }
}

/// The provider's answer is not a stream of events, or a broken one.
pub(super) fn from_stream_error(place: &ModelEndpoint, trouble: StreamError, at: Timestamp) -> ModelError {
    let ModelEndpoint { provider, model, .. } = place;
    match trouble {
        StreamError::Reported(value) => from_report(place, &value, at),
        StreamError::Malformed(why) => {
            let message = format!("{provider} sent what is not an answer of {model}: {}", place.quote(&why));
            ModelError::new(ModelFault::Transient, message)
        }
        StreamError::TooLarge => {
            let message = format!("the answer of {model} is larger than {} bytes", ModelReply::MAX_BYTES);
            ModelError::new(ModelFault::Terminal, message)
        }
        StreamError::Cut => ModelError::new(ModelFault::Transient, format!("{provider} cut the answer of {model} off")),
    }
}

/// The provider reports an error inside of an answer.
pub(super) fn from_report(place: &ModelEndpoint, value: &Value, at: Timestamp) -> ModelError {
    let report = ErrorReport::from_value(value, at);
    classify(place, report.status, retry_delay::NONE, &report)
}

fn classify(
    place: &ModelEndpoint,
    status: Option<u16>,
    pause: retry_delay::RetryDelay,
    report: &ErrorReport,
) -> ModelError {
    let ModelEndpoint { provider, model, .. } = place;
    let number = status.map(|status| format!(" {status}")).unwrap_or_default();
    let message = match place.quote(&report.message) {
        words if words.is_empty() => format!("{provider} answered{number} for {model}, without a word"),
        words => format!("{provider} answered{number} for {model}: {words}"),
    };
    let (fault, hint) = fault(place, status, pause, report);
    let error = ModelError::new(fault, message);
    match hint {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}

fn fault(
    place: &ModelEndpoint,
    status: Option<u16>,
    pause: retry_delay::RetryDelay,
    report: &ErrorReport,
) -> (ModelFault, Option<String>) {
    let waits = pause.millis.map(|millis| ModelFault::RetryAfter { millis });
    if report.mentions(&error_phrases::TOO_LONG) && status.is_none_or(|status| status < 500) {
        return (ModelFault::TooLong, None);
    }
    if status == Some(402) || report.mentions(&error_phrases::BILLING) {
        return (ModelFault::Terminal, Some("add credit at the provider, or choose another model".into()));
    }
    if let Some(until_at) = pause.quota_until.or(report.quota_until) {
        return (ModelFault::QuotaUntil { until_at }, None);
    }
    match status {
        Some(401 | 403) => (ModelFault::Auth, Some(key_hint(place))),
        Some(429) => (waits.unwrap_or(ModelFault::RetryAfter { millis: 0 }), None),
        Some(404) => (ModelFault::Terminal, Some("`bosun models` lists the models that are known".into())),
        Some(408 | 409 | 425) => (waits.unwrap_or(ModelFault::Transient), None),
        Some(500..) => (waits.unwrap_or(ModelFault::Overloaded), None),
        Some(_) => (ModelFault::Terminal, None),
        None if report.mentions(&error_phrases::AUTH) => (ModelFault::Auth, Some(key_hint(place))),
        None if report.mentions(&error_phrases::RATE) => (ModelFault::RetryAfter { millis: 0 }, None),
        None if report.mentions(&error_phrases::OVERLOADED) => (ModelFault::Overloaded, None),
        None if report.mentions(&error_phrases::TERMINAL) => (ModelFault::Terminal, None),
        None => (ModelFault::Transient, None),
    }
}

fn key_hint(place: &ModelEndpoint) -> String {
    let provider = &place.provider;
    match &place.config.key {
        ProviderKey::Present(secret) => match secret.variable() {
            Some(variable) => format!("check the key in {variable}"),
            None => format!("check the key of {provider}"),
        },
        ProviderKey::Missing { variable } => format!("put the key in {variable}"),
        ProviderKey::NotNeeded => format!("it asks for a key; name its variable as key-env in [providers.{provider}]"),
    }
}
