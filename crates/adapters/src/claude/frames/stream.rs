//! Streamed text as streaming events of the provider's API.

use protocol::Usage;
use serde_json::{Value, json};
use uuid::Uuid;

use super::FrameSource;
use super::assistant::empty_message;

/// A message that is being streamed.
#[derive(Debug)]
pub(in crate::claude) struct MessageStream {
    session: Uuid,
    source: FrameSource,
    /// The text so far; none when no text block is open.
    text: Option<String>,
    /// The number of blocks so far.
    block_count: u64,
}

impl MessageStream {
    /// Starts a message; also returns its first event.
    pub(in crate::claude) fn new(session: Uuid, id: &str, model: &str, speaker: FrameSource) -> (MessageStream, Value) {
        let stream = MessageStream { session, source: speaker, text: None, block_count: 0 };
        let start =
            stream.frame(json!({ "type": "message_start", "message": empty_message(id, model, Usage::default()) }));
        (stream, start)
    }

    /// Adds text.
    pub(in crate::claude) fn push_text(&mut self, text: &str) -> Vec<Value> {
        let mut events = Vec::new();
        if self.text.is_none() {
            events.push(self.start_block(json!({ "type": "text", "text": "" })));
            self.text = Some(String::new());
        }
        self.text.get_or_insert_default().push_str(text);
        events.push(self.block_delta(json!({ "type": "text_delta", "text": text })));
        events
    }

    /// Adds the part of `full_text` that was not streamed, and closes the text block.
    pub(in crate::claude) fn finish_text(&mut self, full_text: &str) -> Vec<Value> {
        let missing = match &self.text {
            Some(text) => full_text.strip_prefix(text.as_str()).unwrap_or_default().to_owned(),
            None => full_text.to_owned(),
        };
        let mut events = if missing.is_empty() { Vec::new() } else { self.push_text(&missing) };
        if self.text.take().is_some() {
            events.push(self.stop_block());
        }
        events
    }

    /// Adds a complete block.
    pub(in crate::claude) fn push_block(&mut self, block: &Value) -> Vec<Value> {
        let (empty, delta) = match block["type"].as_str() {
            Some("thinking") => (
                json!({ "type": "thinking", "thinking": "", "signature": "" }),
                json!({ "type": "thinking_delta", "thinking": block["thinking"] }),
            ),
            _call => {
                let mut empty = block.clone();
                empty["input"] = json!({});
                (empty, json!({ "type": "input_json_delta", "partial_json": block["input"].to_string() }))
            }
        };
        let start = self.start_block(empty);
        let delta = self.block_delta(delta);
        vec![start, delta, self.stop_block()]
    }

    /// Ends the message.
    pub(in crate::claude) fn end(mut self, stop_reason: Option<&str>, usage: Value) -> Vec<Value> {
        let mut events = self.finish_text("");
        events.push(self.frame(json!({
            "type": "message_delta", "delta": { "stop_reason": stop_reason, "stop_sequence": null }, "usage": usage,
        })));
        events.push(self.frame(json!({ "type": "message_stop" })));
        events
    }

    fn start_block(&mut self, block: Value) -> Value {
        self.block_count += 1;
        self.frame(json!({ "type": "content_block_start", "index": self.block_count - 1, "content_block": block }))
    }

    fn block_delta(&self, delta: Value) -> Value {
        let index = self.block_count.saturating_sub(1);
        self.frame(json!({ "type": "content_block_delta", "index": index, "delta": delta }))
    }

    fn stop_block(&self) -> Value {
        self.frame(json!({ "type": "content_block_stop", "index": self.block_count.saturating_sub(1) }))
    }

    fn frame(&self, event: Value) -> Value {
        json!({
            "type": "stream_event", "event": event, "parent_tool_use_id": self.source.parent_call,
            "session_id": self.session, "uuid": Uuid::now_v7(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_streamed_as_api_events_and_gaps_are_filled() {
        let (mut stream, start) = MessageStream::new(Uuid::nil(), "m", "model", FrameSource::default());
        let mut events = vec![start];
        events.extend(stream.push_text("Hel"));
        events.extend(stream.finish_text("Hello"));
        events
            .extend(stream.push_block(&json!({ "type": "tool_use", "id": "c", "name": "Bash", "input": { "a": 1 } })));
        events.extend(stream.end(Some("tool_use"), json!({})));
        let kinds: Vec<&str> = events.iter().filter_map(|frame| frame["event"]["type"].as_str()).collect();
        assert_eq!(
            kinds,
            [
                "message_start",
                "content_block_start",
                "content_block_delta",
                "content_block_delta",
                "content_block_stop",
                "content_block_start",
                "content_block_delta",
                "content_block_stop",
                "message_delta",
                "message_stop"
            ]
        );
        assert_eq!(events[3]["event"]["delta"]["text"], "lo");
        assert_eq!(events[5]["event"]["index"], 1);
        assert_eq!(events[6]["event"]["delta"]["partial_json"], r#"{"a":1}"#);
    }
}
