//! Reads the events of a Responses answer.

use net::sse::ServerSentEvent;
use protocol::{StopReason, Usage};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::phase::{MessagePhase, WIRE};
use crate::wire::delta_queue::{DeltaQueue, StreamError};
use crate::wire::events::{event_kind, parse, reported_error};

/// A Responses answer while it arrives.
#[derive(Debug, Default)]
pub(in crate::wire) struct ResponsesStream {
    requested_model: String,
    queue: DeltaQueue,
    /// Whether the text of the current item has been streamed.
    has_streamed: bool,
    has_refused: bool,
}

#[derive(Deserialize)]
struct TextDeltaEvent {
    delta: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct SummaryPartEvent {
    summary_index: u64,
}

#[derive(Deserialize)]
struct OutputItemEvent<'a> {
    #[serde(borrow)]
    item: &'a RawValue,
}

#[derive(Deserialize)]
struct ResponsesOutputItem {
    r#type: String,
    phase: Option<String>,
    status: Option<String>,
    call_id: Option<String>,
    name: Option<String>,
    arguments: Option<String>,
    #[serde(default)]
    content: Option<Vec<ResponsesOutputContent>>,
}

#[derive(Deserialize)]
struct ResponsesOutputContent {
    text: Option<String>,
    refusal: Option<String>,
}

#[derive(Deserialize)]
struct ResponseEvent {
    response: ResponseBody,
}

#[derive(Deserialize)]
struct ResponseBody {
    model: Option<String>,
    usage: Option<ResponsesUsage>,
    incomplete_details: Option<IncompleteDetails>,
}

#[derive(Deserialize)]
struct IncompleteDetails {
    reason: Option<String>,
}

/// The tokens used; the input includes cached tokens.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ResponsesUsage {
    input_tokens: u64,
    output_tokens: u64,
    input_tokens_details: Option<ResponsesUsageDetails>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ResponsesUsageDetails {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
}

impl ResponsesStream {
    /// An answer of the model requested as `requested`.
    pub(in crate::wire) fn new(requested: &str) -> ResponsesStream {
        ResponsesStream { requested_model: requested.to_owned(), ..ResponsesStream::default() }
    }

    /// The deltas received so far.
    pub(in crate::wire) fn queue(&mut self) -> &mut DeltaQueue {
        &mut self.queue
    }

    /// Processes an event.
    pub(in crate::wire) fn event(&mut self, event: &ServerSentEvent) -> Result<(), StreamError> {
        let data = event.data.as_str();
        if data == "[DONE]" {
            return Ok(());
        }
        match &*event_kind(event)? {
            "response.created" => self.queue.model = parse::<ResponseEvent>(data)?.response.model,
            "response.output_item.added" => self.begin_item(&parse(parse::<OutputItemEvent<'_>>(data)?.item.get())?)?,
            "response.output_item.done" => self.finish_item(parse::<OutputItemEvent<'_>>(data)?.item.get())?,
            "response.output_text.delta" => self.push_text(parse::<TextDeltaEvent>(data)?.delta),
            "response.refusal.delta" => self.push_refusal(parse::<TextDeltaEvent>(data)?.delta),
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.queue.push_thinking(parse::<TextDeltaEvent>(data)?.delta);
            }
            "response.reasoning_summary_part.added" if parse::<SummaryPartEvent>(data)?.summary_index > 0 => {
                self.queue.push_thinking("\n\n".into());
            }
            "response.completed" => self.end(parse::<ResponseEvent>(data)?.response, StopReason::End),
            "response.incomplete" => {
                let response = parse::<ResponseEvent>(data)?.response;
                let stop = incomplete_stop_reason(&response);
                self.end(response, stop);
            }
            "response.failed" | "error" => return Err(reported_error(data)),
            // Whole texts after their parts, events of server-side tools, and event types of later API versions.
            _ => {}
        }
        Ok(())
    }

    fn begin_item(&mut self, item: &ResponsesOutputItem) -> Result<(), StreamError> {
        self.has_streamed = false;
        if let ("message", Some(phase)) = (item.r#type.as_str(), item.phase.as_deref()) {
            let marked = serde_json::to_string(&MessagePhase { phase: phase.into() });
            self.queue.push_opaque(WIRE, marked.map_err(|error| StreamError::Malformed(error.to_string()))?);
        }
        Ok(())
    }

    fn finish_item(&mut self, raw: &str) -> Result<(), StreamError> {
        let item: ResponsesOutputItem = parse(raw)?;
        match item.r#type.as_str() {
            "reasoning" => self.queue.push_opaque(WIRE, raw.to_owned()),
            // The length limit truncated it; it must not run.
            "function_call" if item.status.as_deref() == Some("incomplete") => {}
            "function_call" => {
                let [id, name, arguments] = [item.call_id, item.name, item.arguments].map(Option::unwrap_or_default);
                self.queue.push_call(id, name, arguments);
            }
            "message" if !self.has_streamed => self.push_whole_message(item.content.unwrap_or_default()),
            _ => {}
        }
        Ok(())
    }

    /// Adds the text of a message from servers that send it only when it is complete.
    fn push_whole_message(&mut self, content: Vec<ResponsesOutputContent>) {
        for part in content {
            self.push_text(part.text.unwrap_or_default());
            if let Some(refusal) = part.refusal {
                self.push_refusal(refusal);
            }
        }
    }

    fn push_text(&mut self, text: String) {
        self.has_streamed = true;
        self.queue.push_text(text);
    }

    fn push_refusal(&mut self, text: String) {
        self.has_refused = true;
        self.push_text(text);
    }

    fn end(&mut self, response: ResponseBody, stop: StopReason) {
        self.queue.usage = response.usage.map(usage);
        self.queue.model = response.model.or_else(|| self.queue.model.take());
        let stop = if self.has_refused { StopReason::Refusal } else { stop };
        self.queue.finish(stop, &self.requested_model);
    }
}

fn incomplete_stop_reason(response: &ResponseBody) -> StopReason {
    match response.incomplete_details.as_ref().and_then(|details| details.reason.as_deref()) {
        Some("max_output_tokens") => StopReason::Length,
        Some("content_filter") => StopReason::Refusal,
        Some(_) | None => StopReason::End,
    }
}

fn usage(tokens: ResponsesUsage) -> Usage {
    let details = tokens.input_tokens_details.unwrap_or_default();
    let (cache_read, cache_write) = (details.cached_tokens.unwrap_or(0), details.cache_write_tokens.unwrap_or(0));
    let input = tokens.input_tokens.saturating_sub(cache_read).saturating_sub(cache_write);
    Usage { input, output: tokens.output_tokens, cache_read, cache_write }
}
