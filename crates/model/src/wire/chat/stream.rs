//! Reads the chunks of a Chat Completions answer.

use net::sse::ServerSentEvent;
use protocol::{StopReason, Usage};
use serde::Deserialize;
use serde_json::Value;

use super::calls::{PartialCalls, ToolCallDelta};
use super::returned::{ReturnedExtra, WIRE};
use crate::wire::delta_queue::{DeltaQueue, StreamError};
use crate::wire::events::{parse, reported_error};

/// A Chat Completions answer while it arrives.
#[derive(Debug, Default)]
pub(in crate::wire) struct ChatStream {
    requested_model: String,
    queue: DeltaQueue,
    calls: PartialCalls,
    /// Reasoning to send back with the calls it led to.
    reasoning: String,
    has_refused: bool,
    stop: Option<StopReason>,
}

#[derive(Deserialize)]
struct ChatChunk<'a> {
    model: Option<String>,
    #[serde(borrow)]
    choices: Option<Vec<ChatChoice<'a>>>,
    usage: Option<ChatUsage>,
    error: Option<Value>,
    /// The object type; some servers send the error itself as a chunk.
    object: Option<String>,
}

#[derive(Deserialize)]
struct ChatChoice<'a> {
    index: Option<u64>,
    #[serde(borrow)]
    delta: Option<ChatDelta<'a>>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct ChatDelta<'a> {
    /// A string; some servers send a list of parts.
    content: Option<Value>,
    refusal: Option<String>,
    reasoning_content: Option<String>,
    reasoning: Option<String>,
    #[serde(borrow)]
    tool_calls: Option<Vec<ToolCallDelta<'a>>>,
}

/// The tokens used; the prompt includes cached tokens.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ChatUsage {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<ChatUsageDetails>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ChatUsageDetails {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
}

impl ChatStream {
    /// An answer of the model requested as `requested`.
    pub(in crate::wire) fn new(requested: &str) -> ChatStream {
        ChatStream { requested_model: requested.to_owned(), ..ChatStream::default() }
    }

    /// The deltas received so far.
    pub(in crate::wire) fn queue(&mut self) -> &mut DeltaQueue {
        &mut self.queue
    }

    /// Processes an event.
    pub(in crate::wire) fn event(&mut self, event: &ServerSentEvent) -> Result<(), StreamError> {
        if event.data.trim() == "[DONE]" {
            return self.end();
        }
        let chunk: ChatChunk<'_> = parse(&event.data)?;
        let is_error = event.name == "error" || chunk.object.as_deref() == Some("error");
        if is_error || chunk.error.is_some_and(|error| !error.is_null()) {
            return Err(reported_error(&event.data));
        }
        if let Some(model) = chunk.model.filter(|model| !model.is_empty()) {
            self.queue.model = Some(model);
        }
        if let Some(tokens) = chunk.usage {
            self.queue.usage = Some(usage(tokens));
        }
        // Only one choice was requested.
        for choice in chunk.choices.unwrap_or_default().into_iter().filter(|choice| choice.index.unwrap_or(0) == 0) {
            self.choice(choice)?;
        }
        Ok(())
    }

    /// Handles the end of the stream. The answer is complete if it had a stop reason.
    pub(in crate::wire) fn end(&mut self) -> Result<(), StreamError> {
        let stop = self.stop.ok_or(StreamError::Cut)?;
        self.keep_reasoning();
        self.calls.finish(&mut self.queue);
        let stop = if self.has_refused { StopReason::Refusal } else { stop };
        self.queue.finish(stop, &self.requested_model);
        Ok(())
    }

    fn choice(&mut self, choice: ChatChoice<'_>) -> Result<(), StreamError> {
        if let Some(delta) = choice.delta {
            self.delta(delta)?;
        }
        self.stop = match choice.finish_reason.as_deref() {
            None | Some("") => self.stop,
            Some("tool_calls" | "function_call") => Some(StopReason::Calls),
            Some("length") => Some(StopReason::Length),
            Some("content_filter") => Some(StopReason::Refusal),
            Some("error") => return Err(StreamError::Malformed("the provider stopped with an error".into())),
            Some(_) => Some(StopReason::End),
        };
        Ok(())
    }

    fn delta(&mut self, delta: ChatDelta<'_>) -> Result<(), StreamError> {
        if let Some(more) = delta.reasoning_content.filter(|more| !more.is_empty()) {
            self.queue.count_buffered(more.len())?;
            self.reasoning.push_str(&more);
            self.queue.push_thinking(more);
        } else {
            self.queue.push_thinking(delta.reasoning.unwrap_or_default());
        }
        self.queue.push_text(text(delta.content));
        if let Some(refusal) = delta.refusal.filter(|refusal| !refusal.is_empty()) {
            self.has_refused = true;
            self.queue.push_text(refusal);
        }
        for piece in delta.tool_calls.unwrap_or_default() {
            self.calls.add(piece, &mut self.queue)?;
        }
        Ok(())
    }

    fn keep_reasoning(&mut self) {
        if self.reasoning.is_empty() || self.calls.is_empty() {
            return;
        }
        if let Some(json) = ReturnedExtra::of_message(&self.reasoning) {
            self.queue.push_opaque(WIRE, json);
        }
    }
}

fn text(content: Option<Value>) -> String {
    match content {
        Some(Value::String(text)) => text,
        Some(Value::Array(parts)) => parts.iter().filter_map(|part| part.get("text")?.as_str()).collect(),
        Some(_) | None => String::new(),
    }
}

fn usage(tokens: ChatUsage) -> Usage {
    let details = tokens.prompt_tokens_details.unwrap_or_default();
    let (cache_read, cache_write) = (details.cached_tokens.unwrap_or(0), details.cache_write_tokens.unwrap_or(0));
    let input = tokens.prompt_tokens.unwrap_or(0).saturating_sub(cache_read).saturating_sub(cache_write);
    Usage { input, output: tokens.completion_tokens.unwrap_or(0), cache_read, cache_write }
}
