//! Classifies the errors of a provider; the class decides what happens next.

use std::time::Duration;

use net::{ConnectProblem, HttpResponse, NetError};
use protocol::{ModelFault, Timestamp};
use serde_json::Value;

use super::delta_queue::StreamError;
use super::endpoint::ModelEndpoint;
use super::report::ErrorReport;
use super::{error_phrases, retry_delay};
use crate::{ModelError, ModelReply, Provider, ProviderKey};

/// Maximum bytes read of an error's body.
const MAX_ERROR_BYTES: usize = 64 << 10;

/// How long to wait for an error's body; a dripping one would otherwise never end.
const ERROR_BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// Classifies a network error. Text from the server in it is quoted like its other messages.
pub(super) fn from_net(endpoint: &ModelEndpoint, error: &NetError) -> ModelError {
    let fault = match error {
        NetError::Connect { problem: ConnectProblem::Untrusted(_), .. } => ModelFault::Terminal,
        NetError::Connect { .. } => ModelFault::Unreachable,
        NetError::FirstByte { .. } | NetError::Idle { .. } | NetError::ConnectionLost { .. } => ModelFault::Transient,
        NetError::Url { .. }
        | NetError::Header { .. }
        | NetError::Proxy { .. }
        | NetError::Certificates { .. }
        | NetError::AddressForbidden { .. }
        | NetError::Redirected { .. } => ModelFault::Terminal,
    };
    let classified = ModelError::new(fault, endpoint.quote(&error.to_string()));
    match error {
        // The server has the whole request and may be working on it.
        NetError::FirstByte { .. } => classified.after_start(),
        NetError::Url { .. }
        | NetError::Header { .. }
        | NetError::Proxy { .. }
        | NetError::Certificates { .. }
        | NetError::AddressForbidden { .. }
        | NetError::Connect { .. }
        | NetError::Idle { .. }
        | NetError::Redirected { .. }
        | NetError::ConnectionLost { .. } => classified,
    }
}

/// Classifies an error response to a request sent at `at`.
pub(super) async fn from_response(endpoint: &ModelEndpoint, answer: HttpResponse, at: Timestamp) -> ModelError {
    let status = answer.status();
    let delay = retry_delay::from_response(&answer, at);
    let body = answer.excerpt(MAX_ERROR_BYTES, ERROR_BODY_TIMEOUT).await;
    let report = ErrorReport::from_body(&body, at);
    classify(endpoint, Some(status), delay, &report)
}

/// Classifies a successful response that is a page or a whole object instead of a stream.
pub(super) async fn from_unexpected_body(endpoint: &ModelEndpoint, answer: HttpResponse, at: Timestamp) -> ModelError {
    let kind = answer.header("content-type").unwrap_or_default().to_owned();
    let body = answer.excerpt(MAX_ERROR_BYTES, ERROR_BODY_TIMEOUT).await;
    match serde_json::from_str::<Value>(&body) {
        Ok(value) if value.get("error").is_some_and(|error| !error.is_null()) => from_report(endpoint, &value, at),
        Ok(_) | Err(_) => {
            let ModelEndpoint { provider, config: Provider { base_url, .. }, .. } = endpoint;
            let message = format!("{provider} answered with {}, not with a stream of events", endpoint.quote(&kind));
            ModelError::new(ModelFault::Terminal, message).with_hint(format!("check the address {base_url}"))
        }
    }
}

/// Classifies an answer that is not a stream of events, or a broken one.
pub(super) fn from_stream_error(endpoint: &ModelEndpoint, error: StreamError, at: Timestamp) -> ModelError {
    let ModelEndpoint { provider, model, .. } = endpoint;
    match error {
        StreamError::Reported(value) => from_report(endpoint, &value, at),
        StreamError::Malformed(why) => {
            let message = format!("{provider} sent an invalid answer of {model}: {}", endpoint.quote(&why));
            ModelError::new(ModelFault::Transient, message)
        }
        StreamError::TooLarge => {
            let message = format!("the answer of {model} is larger than {} bytes", ModelReply::MAX_BYTES);
            ModelError::new(ModelFault::Terminal, message)
        }
        StreamError::Cut => ModelError::new(ModelFault::Transient, format!("{provider} cut off the answer of {model}")),
    }
}

/// Classifies an error reported inside an answer.
pub(super) fn from_report(endpoint: &ModelEndpoint, value: &Value, at: Timestamp) -> ModelError {
    let report = ErrorReport::from_value(value, at);
    classify(endpoint, report.status, retry_delay::NONE, &report)
}

fn classify(
    endpoint: &ModelEndpoint,
    status: Option<u16>,
    delay: retry_delay::RetryDelay,
    report: &ErrorReport,
) -> ModelError {
    let ModelEndpoint { provider, model, .. } = endpoint;
    let number = status.map(|status| format!(" {status}")).unwrap_or_default();
    let message = match endpoint.quote(&report.message) {
        text if text.is_empty() => format!("{provider} answered{number} for {model}, without a message"),
        text => format!("{provider} answered{number} for {model}: {text}"),
    };
    let (fault, hint) = fault_and_hint(endpoint, status, delay, report);
    let error = ModelError::new(fault, message);
    match hint {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}

fn fault_and_hint(
    endpoint: &ModelEndpoint,
    status: Option<u16>,
    delay: retry_delay::RetryDelay,
    report: &ErrorReport,
) -> (ModelFault, Option<String>) {
    let retry = delay.millis.map(|millis| ModelFault::RetryAfter { millis });
    if report.mentions(&error_phrases::TOO_LONG) && status.is_none_or(|status| status < 500) {
        return (ModelFault::TooLong, None);
    }
    if status == Some(402) || report.mentions(&error_phrases::BILLING) {
        return (ModelFault::Terminal, Some("add credit at the provider, or choose another model".into()));
    }
    if let Some(until_at) = delay.quota_until.or(report.quota_until) {
        return (ModelFault::QuotaUntil { until_at }, None);
    }
    match status {
        Some(401 | 403) => (ModelFault::Auth, Some(key_hint(endpoint))),
        Some(429) => (retry.unwrap_or(ModelFault::RetryAfter { millis: 0 }), None),
        Some(404) => (ModelFault::Terminal, Some("`bosun models` lists the known models".into())),
        Some(408 | 409 | 425) => (retry.unwrap_or(ModelFault::Transient), None),
        Some(500..) => (retry.unwrap_or(ModelFault::Overloaded), None),
        Some(_) => (ModelFault::Terminal, None),
        None if report.mentions(&error_phrases::AUTH) => (ModelFault::Auth, Some(key_hint(endpoint))),
        None if report.mentions(&error_phrases::RATE) => (ModelFault::RetryAfter { millis: 0 }, None),
        None if report.mentions(&error_phrases::OVERLOADED) => (ModelFault::Overloaded, None),
        None if report.mentions(&error_phrases::TERMINAL) => (ModelFault::Terminal, None),
        None => (ModelFault::Transient, None),
    }
}

fn key_hint(endpoint: &ModelEndpoint) -> String {
    let provider = &endpoint.provider;
    match &endpoint.config.key {
        ProviderKey::Present(secret) => match secret.variable() {
            Some(variable) => format!("check the key in {variable}"),
            None => format!("check the key of {provider}"),
        },
        ProviderKey::Missing { variable } => format!("put the key in {variable}"),
        ProviderKey::NotNeeded => format!("it needs a key; set its variable as key-env in [providers.{provider}]"),
    }
}
