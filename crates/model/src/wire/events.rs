//! Reads events: the code shared by all wire formats, and the choice between them.

use std::borrow::Cow;

use net::sse::ServerSentEvent;
use serde::Deserialize;
use serde_json::Value;

use super::delta_queue::{DeltaQueue, StreamError};
use super::{anthropic, chat, responses};
use crate::WireFormat;

/// An answer as it arrives, in any wire format.
#[derive(Debug)]
pub(super) enum AnswerStream {
    Anthropic(anthropic::AnthropicStream),
    Responses(responses::ResponsesStream),
    Chat(chat::ChatStream),
}

impl AnswerStream {
    /// An answer in the format `wire` of the model requested as `requested`.
    pub(super) fn new(wire: WireFormat, requested: &str) -> AnswerStream {
        match wire {
            WireFormat::Anthropic => AnswerStream::Anthropic(anthropic::AnthropicStream::new(requested)),
            WireFormat::Responses => AnswerStream::Responses(responses::ResponsesStream::new(requested)),
            WireFormat::Chat => AnswerStream::Chat(chat::ChatStream::new(requested)),
        }
    }

    /// The deltas received so far.
    pub(super) fn queue(&mut self) -> &mut DeltaQueue {
        match self {
            AnswerStream::Anthropic(stream) => stream.queue(),
            AnswerStream::Responses(stream) => stream.queue(),
            AnswerStream::Chat(stream) => stream.queue(),
        }
    }

    /// Processes an event.
    pub(super) fn event(&mut self, event: &ServerSentEvent) -> Result<(), StreamError> {
        match self {
            AnswerStream::Anthropic(stream) => stream.event(event),
            AnswerStream::Responses(stream) => stream.event(event),
            AnswerStream::Chat(stream) => stream.event(event),
        }
    }

    /// Handles the end of the body.
    pub(super) fn end(&mut self) -> Result<(), StreamError> {
        match self {
            AnswerStream::Anthropic(stream) => stream.end(),
            AnswerStream::Responses(_) => Err(StreamError::Cut),
            AnswerStream::Chat(stream) => stream.end(),
        }
    }
}

/// The type of an event: from its data, or else its name.
pub(super) fn event_kind(event: &ServerSentEvent) -> Result<Cow<'_, str>, StreamError> {
    #[derive(Deserialize)]
    struct TypedEvent<'a> {
        #[serde(borrow)]
        r#type: Option<Cow<'a, str>>,
    }
    let typed: TypedEvent<'_> = parse(&event.data)?;
    Ok(typed.r#type.unwrap_or(Cow::Borrowed(&event.name)))
}

/// Parses an event's data.
pub(super) fn parse<'a, T: Deserialize<'a>>(data: &'a str) -> Result<T, StreamError> {
    serde_json::from_str(data).map_err(|error| StreamError::Malformed(error.to_string()))
}

/// The error that an event reports.
pub(super) fn reported_error(data: &str) -> StreamError {
    match serde_json::from_str(data) {
        Ok(error) => StreamError::Reported(error),
        Err(_) => StreamError::Reported(Value::String(data.to_owned())),
    }
}
