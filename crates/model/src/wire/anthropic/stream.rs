//! Reads the events of an Anthropic answer.

use std::mem;

use net::sse::Event;
use protocol::{StopReason, Usage};
use serde_json::value::RawValue;

use super::event::{Block, BlockDelta, BlockStart, MessageDelta, MessageStart, More, Tokens};
use super::kept::{Kept, WIRE};
use crate::wire::arrival::{Arrival, Trouble};
use crate::wire::events::{kind, parse, reported};
use crate::wire::verbatim;

/// An Anthropic answer while it arrives.
#[derive(Debug, Default)]
pub(in crate::wire) struct Stream {
    asked: String,
    arrival: Arrival,
    open: Open,
    tokens: Tokens,
    stop: Option<StopReason>,
}

/// The block that is being written. Its index is not looked at: blocks come one after the other, and some servers
/// number them wrongly.
#[derive(Debug, Default)]
enum Open {
    #[default]
    None,
    Text,
    Thinking {
        thinking: String,
        signature: String,
    },
    Call {
        id: String,
        name: String,
        input: String,
    },
}

impl Stream {
    /// An answer of the model that was asked as `asked`.
    pub(in crate::wire) fn new(asked: &str) -> Stream {
        Stream { asked: asked.to_owned(), ..Stream::default() }
    }

    /// What has arrived.
    pub(in crate::wire) fn arrival(&mut self) -> &mut Arrival {
        &mut self.arrival
    }

    /// Takes an event in.
    pub(in crate::wire) fn event(&mut self, event: &Event) -> Result<(), Trouble> {
        let data = event.data.as_str();
        match &*kind(event)? {
            "message_start" => self.begin(parse(data)?),
            "content_block_start" => self.open(parse::<BlockStart<'_>>(data)?.content_block)?,
            "content_block_delta" => self.extend(parse::<BlockDelta>(data)?.delta)?,
            "content_block_stop" => self.close()?,
            "message_delta" => self.turn_to_end(parse(data)?),
            "message_stop" => self.end()?,
            "error" => return Err(reported(data)),
            // Pings, and what later versions of the API may add.
            _ => {}
        }
        Ok(())
    }

    /// The stream has ended. One that said why the model stopped is complete.
    pub(in crate::wire) fn end(&mut self) -> Result<(), Trouble> {
        let stop = self.stop.ok_or(Trouble::Cut)?;
        self.close()?;
        self.arrival.done(stop, &self.asked);
        Ok(())
    }

    fn begin(&mut self, start: MessageStart) {
        self.arrival.model = start.message.model;
        self.count(start.message.usage);
    }

    fn open(&mut self, block: Block<'_>) -> Result<(), Trouble> {
        self.close()?;
        self.open = match block.r#type.as_str() {
            "text" => Open::Text,
            "thinking" => Open::Thinking { thinking: String::new(), signature: String::new() },
            "tool_use" => {
                let input = block.input.map(RawValue::get).filter(|input| *input != "{}" && verbatim::is_object(input));
                let input = input.unwrap_or_default().to_owned();
                Open::Call { id: block.id.unwrap_or_default(), name: block.name.unwrap_or_default(), input }
            }
            "redacted_thinking" => return self.keep(&Kept::RedactedThinking { data: &block.data.unwrap_or_default() }),
            // A block of a server's own tool, and what later versions may add.
            _ => Open::None,
        };
        let (text, thinking, signature) = (block.text, block.thinking, block.signature);
        self.extend(More { text, thinking, signature, partial_json: None })
    }

    fn extend(&mut self, more: More) -> Result<(), Trouble> {
        match &mut self.open {
            Open::None => {}
            Open::Text => self.arrival.text(more.text.unwrap_or_default()),
            Open::Thinking { thinking, signature } => {
                let (text, sign) = (more.thinking.unwrap_or_default(), more.signature.unwrap_or_default());
                self.arrival.hold(text.len() + sign.len())?;
                thinking.push_str(&text);
                signature.push_str(&sign);
                self.arrival.thinking(text);
            }
            Open::Call { input, .. } => {
                let json = more.partial_json.unwrap_or_default();
                self.arrival.hold(json.len())?;
                input.push_str(&json);
            }
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), Trouble> {
        match mem::take(&mut self.open) {
            Open::None | Open::Text => {}
            Open::Call { id, name, input } => self.arrival.call(id, name, input),
            // Without a signature the provider would not take it back.
            Open::Thinking { signature, .. } if signature.is_empty() => {}
            Open::Thinking { thinking, signature } => {
                self.keep(&Kept::Thinking { thinking: &thinking, signature: &signature })?;
            }
        }
        Ok(())
    }

    fn keep(&mut self, kept: &Kept<'_>) -> Result<(), Trouble> {
        let json = serde_json::to_string(kept).map_err(|error| Trouble::Malformed(error.to_string()))?;
        self.arrival.opaque(WIRE, json);
        Ok(())
    }

    fn turn_to_end(&mut self, delta: MessageDelta) {
        self.count(delta.usage);
        let Some(reason) = delta.delta.stop_reason else { return };
        self.stop = Some(match reason.as_str() {
            "tool_use" => StopReason::Calls,
            "max_tokens" | "model_context_window_exceeded" => StopReason::Length,
            "refusal" => StopReason::Refusal,
            _ => StopReason::End,
        });
        let explanation = delta.delta.stop_details.and_then(|details| details.explanation);
        self.arrival.text(explanation.unwrap_or_default());
    }

    fn count(&mut self, tokens: Option<Tokens>) {
        let Some(more) = tokens else { return };
        let tokens = &mut self.tokens;
        tokens.input_tokens = more.input_tokens.max(tokens.input_tokens);
        tokens.output_tokens = more.output_tokens.max(tokens.output_tokens);
        tokens.cache_read_input_tokens = more.cache_read_input_tokens.max(tokens.cache_read_input_tokens);
        tokens.cache_creation_input_tokens = more.cache_creation_input_tokens.max(tokens.cache_creation_input_tokens);
        self.arrival.usage = Some(Usage {
            input: tokens.input_tokens.unwrap_or(0),
            output: tokens.output_tokens.unwrap_or(0),
            cache_read: tokens.cache_read_input_tokens.unwrap_or(0),
            cache_write: tokens.cache_creation_input_tokens.unwrap_or(0),
        });
    }
}
