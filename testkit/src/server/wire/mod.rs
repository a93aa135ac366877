//! The three wire formats from the provider's side: parses and checks requests, and encodes answers.

mod anthropic;
mod chat;
mod field;
mod pairs;
mod pieces;
mod question;
mod responses;
mod seal;

use model::{Delta, ModelRequest, WireFormat};
use protocol::{StopReason, Usage};
use serde_json::Value;

use super::http;
use super::outlet::SseFrames;
use super::refusal::RequestRefusal;
use field::BodyProblem;

/// A parsed request.
#[derive(Debug)]
pub(super) struct ParsedRequest {
    /// The request itself.
    pub(super) request: ModelRequest,
    /// The model's name.
    pub(super) model: String,
    /// The form of the answer.
    pub(super) form: AnswerForm,
    /// Options of a single wire format.
    pub(super) extras: Extras,
}

/// The form of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerForm {
    /// As one JSON value.
    Whole,
    /// Event by event.
    Stream,
}

/// What a client asked for besides the answer.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Extras {
    /// Usage at the end of a stream.
    pub(super) usage: bool,
    /// Reasoning that it can send back.
    pub(super) encrypted: bool,
}

/// How an answer ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AnswerEnd {
    pub(super) stop: StopReason,
    pub(super) usage: Usage,
}

/// Encodes one answer in a wire format.
pub(super) trait AnswerEncoder: Send {
    /// Encodes the beginning.
    fn begin(&mut self, out: &mut SseFrames);
    /// Encodes one piece of the answer.
    fn say(&mut self, delta: &Delta, out: &mut SseFrames);
    /// Encodes the end.
    fn end(&mut self, ending: AnswerEnd, out: &mut SseFrames);
    /// Encodes an error in place of the rest.
    fn fail(&mut self, trouble: &RequestRefusal, out: &mut SseFrames);
    /// The whole answer as one value.
    fn whole(&self, ending: AnswerEnd) -> Value;
}

/// Parses and checks a body.
pub(super) fn read(wire: WireFormat, body: &[u8], attempt: u32) -> Result<ParsedRequest, BodyProblem> {
    let body: Value =
        serde_json::from_slice(body).map_err(|error| BodyProblem::new(format!("the body is not JSON: {error}")))?;
    let mut parsed = match wire {
        WireFormat::Anthropic => anthropic::read(&body),
        WireFormat::Responses => responses::read(&body),
        WireFormat::Chat => chat::read(&body),
    }?;
    pairs::check(&parsed.request)?;
    parsed.request.attempt = attempt;
    Ok(parsed)
}

/// The encoder for an answer; `forecast` is how it will end, if known.
pub(super) fn encoder_for(
    wire: WireFormat,
    parsed: &ParsedRequest,
    number: u64,
    forecast: Option<AnswerEnd>,
) -> Box<dyn AnswerEncoder> {
    let model = parsed.model.clone();
    match wire {
        WireFormat::Anthropic => Box::new(anthropic::AnthropicEncoder::new(model, number, forecast)),
        WireFormat::Responses => Box::new(responses::ResponsesEncoder::new(model, number, forecast, parsed.extras)),
        WireFormat::Chat => Box::new(chat::ChatEncoder::new(model, number, forecast, parsed.extras)),
    }
}

/// The versions of Anthropic's API.
const VERSIONS: [&str; 2] = ["2023-06-01", "2026-10-21"];

/// Checks the key. Compatible servers need none unless one is set.
pub(super) fn authorise(
    wire: WireFormat,
    request: &http::ReceivedRequest,
    key: Option<&str>,
) -> Result<(), RequestRefusal> {
    let bearer = || request.header("authorization")?.strip_prefix("Bearer ");
    let given = match wire {
        WireFormat::Anthropic => request.header("x-api-key").or_else(bearer),
        WireFormat::Responses | WireFormat::Chat => bearer(),
    };
    let right = match (key, given) {
        (Some(key), given) => given == Some(key),
        (None, given) => given.is_some_and(|given| !given.is_empty()) || wire == WireFormat::Chat,
    };
    if !right {
        return Err(RequestRefusal::Auth("the key is missing or wrong".into()));
    }
    let version = request.header("anthropic-version").unwrap_or_default();
    if wire == WireFormat::Anthropic && !VERSIONS.contains(&version) {
        return Err(RequestRefusal::Invalid(format!("anthropic-version: unknown version `{version}`")));
    }
    Ok(())
}
