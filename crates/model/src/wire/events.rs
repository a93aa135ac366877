//! Reading events: what all wires share, and the choice between them.

use std::borrow::Cow;

use net::sse::Event;
use serde::Deserialize;
use serde_json::Value;

use super::arrival::{Arrival, Trouble};
use super::{anthropic, chat, responses};
use crate::Wire;

/// An answer while it arrives, on any wire.
#[derive(Debug)]
pub(super) enum Stream {
    Anthropic(anthropic::Stream),
    Responses(responses::Stream),
    Chat(chat::Stream),
}

impl Stream {
    /// An answer on `wire` of the model that was asked as `asked`.
    pub(super) fn new(wire: Wire, asked: &str) -> Stream {
        match wire {
            Wire::Anthropic => Stream::Anthropic(anthropic::Stream::new(asked)),
            Wire::Responses => Stream::Responses(responses::Stream::new(asked)),
            Wire::Chat => Stream::Chat(chat::Stream::new(asked)),
        }
    }

    /// What has arrived.
    pub(super) fn arrival(&mut self) -> &mut Arrival {
        match self {
            Stream::Anthropic(stream) => stream.arrival(),
            Stream::Responses(stream) => stream.arrival(),
            Stream::Chat(stream) => stream.arrival(),
        }
    }

    /// Takes an event in.
    pub(super) fn event(&mut self, event: &Event) -> Result<(), Trouble> {
        match self {
            Stream::Anthropic(stream) => stream.event(event),
            Stream::Responses(stream) => stream.event(event),
            Stream::Chat(stream) => stream.event(event),
        }
    }

    /// The body has ended.
    pub(super) fn end(&mut self) -> Result<(), Trouble> {
        match self {
            Stream::Anthropic(stream) => stream.end(),
            Stream::Responses(_) => Err(Trouble::Cut),
            Stream::Chat(stream) => stream.end(),
        }
    }
}

/// The kind of an event: its data says it, or else its name.
pub(super) fn kind(event: &Event) -> Result<Cow<'_, str>, Trouble> {
    #[derive(Deserialize)]
    struct Typed<'a> {
        #[serde(borrow)]
        r#type: Option<Cow<'a, str>>,
    }
    let typed: Typed<'_> = parse(&event.data)?;
    Ok(typed.r#type.unwrap_or(Cow::Borrowed(&event.name)))
}

/// Reads an event's data.
pub(super) fn parse<'a, T: Deserialize<'a>>(data: &'a str) -> Result<T, Trouble> {
    serde_json::from_str(data).map_err(|error| Trouble::Malformed(error.to_string()))
}

/// What an event that reports an error says.
pub(super) fn reported(data: &str) -> Trouble {
    match serde_json::from_str(data) {
        Ok(error) => Trouble::Reported(error),
        Err(_) => Trouble::Reported(Value::String(data.to_owned())),
    }
}
