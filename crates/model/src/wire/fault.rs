//! What went wrong at a provider, in the classes that decide what happens next.

use std::time::Duration;

use net::{Answer, NetError, Problem};
use protocol::{At, ModelFault};
use serde_json::Value;

use super::arrival::Trouble;
use super::place::Place;
use super::report::Report;
use super::{pause, words};
use crate::{Key, ModelError, Provider, Reply};

/// Most bytes that are read of an error's body.
const BODY: usize = 64 << 10;

/// How long an error's body is waited for; one that drips would otherwise never end.
const TIME: Duration = Duration::from_secs(10);

/// No answer came from the network. What a server put into the error is quoted like its other words.
pub(super) fn from_net(place: &Place, error: &NetError) -> ModelError {
    let fault = match error {
        NetError::Connect { problem: Problem::Untrusted(_), .. } => ModelFault::Terminal,
        NetError::Connect { .. } => ModelFault::Unreachable,
        NetError::FirstByte { .. } | NetError::Idle { .. } | NetError::Cut { .. } => ModelFault::Transient,
        NetError::Url { .. }
        | NetError::Header { .. }
        | NetError::Proxy { .. }
        | NetError::Certificates { .. }
        | NetError::Moved { .. } => ModelFault::Terminal,
    };
    let words = ModelError::new(fault, place.quote(&error.to_string()));
    match error {
        // It has the whole question and may be at work on it.
        NetError::FirstByte { .. } => words.begun(),
        NetError::Url { .. }
        | NetError::Header { .. }
        | NetError::Proxy { .. }
        | NetError::Certificates { .. }
        | NetError::Connect { .. }
        | NetError::Idle { .. }
        | NetError::Moved { .. }
        | NetError::Cut { .. } => words,
    }
}

/// The provider answered with an error to a request of the moment `at`.
pub(super) async fn from_answer(place: &Place, answer: Answer, at: At) -> ModelError {
    let status = answer.status();
    let pause = pause::read(&answer, at);
    let body = answer.excerpt(BODY, TIME).await;
    let report = Report::from_body(&body, at);
    classify(place, Some(status), pause, &report)
}

/// The provider answered well, but with a page or a whole object instead of a stream.
pub(super) async fn from_other(place: &Place, answer: Answer, at: At) -> ModelError {
    let kind = answer.header("content-type").unwrap_or_default().to_owned();
    let body = answer.excerpt(BODY, TIME).await;
    match serde_json::from_str::<Value>(&body) {
        Ok(value) if value.get("error").is_some_and(|error| !error.is_null()) => from_report(place, &value, at),
        Ok(_) | Err(_) => {
            let Place { provider, at: Provider { base_url, .. }, .. } = place;
            let message = format!("{provider} answered with {}, not with a stream of events", place.quote(&kind));
            ModelError::new(ModelFault::Terminal, message).with_hint(format!("check the address {base_url}"))
        }
    }
}

/// The provider's answer is no stream of events, or a broken one.
pub(super) fn from_trouble(place: &Place, trouble: Trouble, at: At) -> ModelError {
    let Place { provider, model, .. } = place;
    match trouble {
        Trouble::Reported(value) => from_report(place, &value, at),
        Trouble::Malformed(why) => {
            let message = format!("{provider} sent what is no answer of {model}: {}", place.quote(&why));
            ModelError::new(ModelFault::Transient, message)
        }
        Trouble::TooLarge => {
            let message = format!("the answer of {model} is larger than {} bytes", Reply::MAX_BYTES);
            ModelError::new(ModelFault::Terminal, message)
        }
        Trouble::Cut => ModelError::new(ModelFault::Transient, format!("{provider} cut the answer of {model} off")),
    }
}

/// The provider reports an error inside of an answer.
pub(super) fn from_report(place: &Place, value: &Value, at: At) -> ModelError {
    let report = Report::from_value(value, at);
    classify(place, report.status, pause::NONE, &report)
}

fn classify(place: &Place, status: Option<u16>, pause: pause::Pause, report: &Report) -> ModelError {
    let Place { provider, model, .. } = place;
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

fn fault(place: &Place, status: Option<u16>, pause: pause::Pause, report: &Report) -> (ModelFault, Option<String>) {
    let waits = pause.millis.map(|millis| ModelFault::RetryAfter { millis });
    if report.says(&words::TOO_LONG) && status.is_none_or(|status| status < 500) {
        return (ModelFault::TooLong, None);
    }
    if status == Some(402) || report.says(&words::BILLING) {
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
        None if report.says(&words::AUTH) => (ModelFault::Auth, Some(key_hint(place))),
        None if report.says(&words::RATE) => (ModelFault::RetryAfter { millis: 0 }, None),
        None if report.says(&words::OVERLOADED) => (ModelFault::Overloaded, None),
        None if report.says(&words::TERMINAL) => (ModelFault::Terminal, None),
        None => (ModelFault::Transient, None),
    }
}

fn key_hint(place: &Place) -> String {
    let provider = &place.provider;
    match &place.at.key {
        Key::Given(secret) => match secret.variable() {
            Some(variable) => format!("check the key in {variable}"),
            None => format!("check the key of {provider}"),
        },
        Key::Missing { variable } => format!("put the key in {variable}"),
        Key::Needless => format!("it asks for a key; name its variable as key-env in [providers.{provider}]"),
    }
}
