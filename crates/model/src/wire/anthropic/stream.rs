//! Reads the events of an Anthropic answer.

use std::mem;

use net::sse::ServerSentEvent;
use protocol::{StopReason, Usage};
use serde_json::value::RawValue;

use super::event::{
    AnthropicBlock, AnthropicUsage, BlockDelta, BlockDeltaBody, BlockStart, MessageDelta, MessageStart,
};
use super::returned::{ReturnedThinking, WIRE};
use crate::wire::delta_queue::{DeltaQueue, StreamError};
use crate::wire::events::{event_kind, parse, reported_error};
use crate::wire::verbatim;

/// An Anthropic answer while it arrives.
#[derive(Debug, Default)]
pub(in crate::wire) struct AnthropicStream {
    requested_model: String,
    queue: DeltaQueue,
    open: PartialBlock,
    tokens: AnthropicUsage,
    stop: Option<StopReason>,
}

/// The current block. Its index is ignored: blocks come one after the other, and some servers number them wrongly.
#[derive(Debug, Default)]
enum PartialBlock {
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

impl AnthropicStream {
    /// An answer of the model requested as `requested`.
    pub(in crate::wire) fn new(requested: &str) -> AnthropicStream {
        AnthropicStream { requested_model: requested.to_owned(), ..AnthropicStream::default() }
    }

    /// The deltas received so far.
    pub(in crate::wire) fn queue(&mut self) -> &mut DeltaQueue {
        &mut self.queue
    }

    /// Processes an event.
    pub(in crate::wire) fn event(&mut self, event: &ServerSentEvent) -> Result<(), StreamError> {
        let data = event.data.as_str();
        match &*event_kind(event)? {
            "message_start" => self.begin_message(parse(data)?),
            "content_block_start" => self.open(parse::<BlockStart<'_>>(data)?.content_block)?,
            "content_block_delta" => self.extend_block(parse::<BlockDelta>(data)?.delta)?,
            "content_block_stop" => self.close_block()?,
            "message_delta" => self.apply_message_delta(parse(data)?),
            "message_stop" => self.end()?,
            "error" => return Err(reported_error(data)),
            // Pings, and event types of later API versions.
            _ => {}
        }
        Ok(())
    }

    /// Handles the end of the stream. The answer is complete if it had a stop reason.
    pub(in crate::wire) fn end(&mut self) -> Result<(), StreamError> {
        let stop = self.stop.ok_or(StreamError::Cut)?;
        self.close_block()?;
        self.queue.finish(stop, &self.requested_model);
        Ok(())
    }

    fn begin_message(&mut self, start: MessageStart) {
        self.queue.model = start.message.model;
        self.add_usage(start.message.usage);
    }

    fn open(&mut self, block: AnthropicBlock<'_>) -> Result<(), StreamError> {
        self.close_block()?;
        self.open = match block.r#type.as_str() {
            "text" => PartialBlock::Text,
            "thinking" => PartialBlock::Thinking { thinking: String::new(), signature: String::new() },
            "tool_use" => {
                let input = block.input.map(RawValue::get).filter(|input| *input != "{}" && verbatim::is_object(input));
                let input = input.unwrap_or_default().to_owned();
                PartialBlock::Call { id: block.id.unwrap_or_default(), name: block.name.unwrap_or_default(), input }
            }
            "redacted_thinking" => {
                return self
                    .push_returned(&ReturnedThinking::RedactedThinking { data: &block.data.unwrap_or_default() });
            }
            // A block of a server-side tool, or of a later API version.
            _ => PartialBlock::None,
        };
        let (text, thinking, signature) = (block.text, block.thinking, block.signature);
        self.extend_block(BlockDeltaBody { text, thinking, signature, partial_json: None })
    }

    fn extend_block(&mut self, more: BlockDeltaBody) -> Result<(), StreamError> {
        match &mut self.open {
            PartialBlock::None => {}
            PartialBlock::Text => self.queue.push_text(more.text.unwrap_or_default()),
            PartialBlock::Thinking { thinking, signature } => {
                let (text, sign) = (more.thinking.unwrap_or_default(), more.signature.unwrap_or_default());
                self.queue.count_buffered(text.len() + sign.len())?;
                thinking.push_str(&text);
                signature.push_str(&sign);
                self.queue.push_thinking(text);
            }
            PartialBlock::Call { input, .. } => {
                let json = more.partial_json.unwrap_or_default();
                self.queue.count_buffered(json.len())?;
                input.push_str(&json);
            }
        }
        Ok(())
    }

    fn close_block(&mut self) -> Result<(), StreamError> {
        match mem::take(&mut self.open) {
            PartialBlock::None | PartialBlock::Text => {}
            PartialBlock::Call { id, name, input } => self.queue.push_call(id, name, input),
            // Without a signature the provider would not accept it back.
            PartialBlock::Thinking { signature, .. } if signature.is_empty() => {}
            PartialBlock::Thinking { thinking, signature } => {
                self.push_returned(&ReturnedThinking::Thinking { thinking: &thinking, signature: &signature })?;
            }
        }
        Ok(())
    }

    fn push_returned(&mut self, block: &ReturnedThinking<'_>) -> Result<(), StreamError> {
        let json = serde_json::to_string(block).map_err(|error| StreamError::Malformed(error.to_string()))?;
        self.queue.push_opaque(WIRE, json);
        Ok(())
    }

    fn apply_message_delta(&mut self, delta: MessageDelta) {
        self.add_usage(delta.usage);
        let Some(reason) = delta.delta.stop_reason else { return };
        self.stop = Some(match reason.as_str() {
            "tool_use" => StopReason::Calls,
            "max_tokens" | "model_context_window_exceeded" => StopReason::Length,
            "refusal" => StopReason::Refusal,
            _ => StopReason::End,
        });
        let explanation = delta.delta.stop_details.and_then(|details| details.explanation);
        self.queue.push_text(explanation.unwrap_or_default());
    }

    fn add_usage(&mut self, tokens: Option<AnthropicUsage>) {
        let Some(more) = tokens else { return };
        let tokens = &mut self.tokens;
        tokens.input_tokens = more.input_tokens.max(tokens.input_tokens);
        tokens.output_tokens = more.output_tokens.max(tokens.output_tokens);
        tokens.cache_read_input_tokens = more.cache_read_input_tokens.max(tokens.cache_read_input_tokens);
        tokens.cache_creation_input_tokens = more.cache_creation_input_tokens.max(tokens.cache_creation_input_tokens);
        self.queue.usage = Some(Usage {
            input: tokens.input_tokens.unwrap_or(0),
            output: tokens.output_tokens.unwrap_or(0),
            cache_read: tokens.cache_read_input_tokens.unwrap_or(0),
            cache_write: tokens.cache_creation_input_tokens.unwrap_or(0),
        });
    }
}
