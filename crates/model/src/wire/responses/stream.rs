//! The events of a Responses answer.

use net::sse::Event;
use protocol::{StopReason, Usage};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::phase::{Phase, WIRE};
use crate::wire::arrival::{Arrival, Trouble};
use crate::wire::events::{kind, parse, reported};

/// A Responses answer while it arrives.
#[derive(Debug, Default)]
pub(in crate::wire) struct Stream {
    asked: String,
    arrival: Arrival,
    /// Whether the words of the item that is being written have been streamed.
    has_streamed: bool,
    has_refused: bool,
}

#[derive(Deserialize)]
struct Words {
    delta: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Part {
    summary_index: u64,
}

#[derive(Deserialize)]
struct Wrapped<'a> {
    #[serde(borrow)]
    item: &'a RawValue,
}

#[derive(Deserialize)]
struct Item {
    r#type: String,
    phase: Option<String>,
    status: Option<String>,
    call_id: Option<String>,
    name: Option<String>,
    arguments: Option<String>,
    #[serde(default)]
    content: Option<Vec<Content>>,
}

#[derive(Deserialize)]
struct Content {
    text: Option<String>,
    refusal: Option<String>,
}

#[derive(Deserialize)]
struct Whole {
    response: Response,
}

#[derive(Deserialize)]
struct Response {
    model: Option<String>,
    usage: Option<Tokens>,
    incomplete_details: Option<Incomplete>,
}

#[derive(Deserialize)]
struct Incomplete {
    reason: Option<String>,
}

/// What was used; the input counts what the cache held.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Tokens {
    input_tokens: u64,
    output_tokens: u64,
    input_tokens_details: Option<Details>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Details {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
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
        if data == "[DONE]" {
            return Ok(());
        }
        match &*kind(event)? {
            "response.created" => self.arrival.model = parse::<Whole>(data)?.response.model,
            "response.output_item.added" => self.begin(&parse(parse::<Wrapped<'_>>(data)?.item.get())?)?,
            "response.output_item.done" => self.finish(parse::<Wrapped<'_>>(data)?.item.get())?,
            "response.output_text.delta" => self.say(parse::<Words>(data)?.delta),
            "response.refusal.delta" => self.refuse(parse::<Words>(data)?.delta),
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.arrival.thinking(parse::<Words>(data)?.delta);
            }
            "response.reasoning_summary_part.added" if parse::<Part>(data)?.summary_index > 0 => {
                self.arrival.thinking("\n\n".into());
            }
            "response.completed" => self.end(parse::<Whole>(data)?.response, StopReason::End),
            "response.incomplete" => {
                let response = parse::<Whole>(data)?.response;
                let stop = incomplete(&response);
                self.end(response, stop);
            }
            "response.failed" | "error" => return Err(reported(data)),
            // Whole texts after their parts, events of the server's own tools, and what later versions may add.
            _ => {}
        }
        Ok(())
    }

    fn begin(&mut self, item: &Item) -> Result<(), Trouble> {
        self.has_streamed = false;
        if let ("message", Some(phase)) = (item.r#type.as_str(), item.phase.as_deref()) {
            let marked = serde_json::to_string(&Phase { phase: phase.into() });
            self.arrival.opaque(WIRE, marked.map_err(|error| Trouble::Malformed(error.to_string()))?);
        }
        Ok(())
    }

    fn finish(&mut self, raw: &str) -> Result<(), Trouble> {
        let item: Item = parse(raw)?;
        match item.r#type.as_str() {
            "reasoning" => self.arrival.opaque(WIRE, raw.to_owned()),
            // The length limit cut it; it must not run.
            "function_call" if item.status.as_deref() == Some("incomplete") => {}
            "function_call" => {
                let [id, name, arguments] = [item.call_id, item.name, item.arguments].map(Option::unwrap_or_default);
                self.arrival.call(id, name, arguments);
            }
            "message" if !self.has_streamed => self.say_whole(item.content.unwrap_or_default()),
            _ => {}
        }
        Ok(())
    }

    /// The words of a message that some servers send only when it is whole.
    fn say_whole(&mut self, content: Vec<Content>) {
        for part in content {
            self.say(part.text.unwrap_or_default());
            if let Some(refusal) = part.refusal {
                self.refuse(refusal);
            }
        }
    }

    fn say(&mut self, text: String) {
        self.has_streamed = true;
        self.arrival.text(text);
    }

    fn refuse(&mut self, text: String) {
        self.has_refused = true;
        self.say(text);
    }

    fn end(&mut self, response: Response, stop: StopReason) {
        self.arrival.usage = response.usage.map(usage);
        self.arrival.model = response.model.or_else(|| self.arrival.model.take());
        let stop = if self.has_refused { StopReason::Refusal } else { stop };
        self.arrival.done(stop, &self.asked);
    }
}

fn incomplete(response: &Response) -> StopReason {
    match response.incomplete_details.as_ref().and_then(|details| details.reason.as_deref()) {
        Some("max_output_tokens") => StopReason::Length,
        Some("content_filter") => StopReason::Refusal,
        Some(_) | None => StopReason::End,
    }
}

fn usage(tokens: Tokens) -> Usage {
    let details = tokens.input_tokens_details.unwrap_or_default();
    let (cache_read, cache_write) = (details.cached_tokens.unwrap_or(0), details.cache_write_tokens.unwrap_or(0));
    let input = tokens.input_tokens.saturating_sub(cache_read).saturating_sub(cache_write);
    Usage { input, output: tokens.output_tokens, cache_read, cache_write }
}
