//! Streamed text as streaming events of the provider's API.

use protocol::Usage;
use serde_json::{Value, json};
use uuid::Uuid;

use super::FrameSource;
use super::assistant::message;

/// A message that is being streamed.
#[derive(Debug)]
pub(in crate::claude) struct MessageStream {
    session: Uuid,
    speaker: FrameSource,
    /// The text so far; none when no text block is open.
    text: Option<String>,
    /// The number of blocks so far.
    blocks: u64,
}

impl MessageStream {
    /// Starts a message; also returns its first event.
    pub(in crate::claude) fn new(session: Uuid, id: &str, model: &str, speaker: FrameSource) -> (MessageStream, Value) {
        let stream = MessageStream { session, speaker, text: None, blocks: 0 };
        let start = stream.event(json!({ "type": "message_start", "message": message(id, model, Usage::default()) }));
        (stream, start)
    }

    /// Adds text.
    pub(in crate::claude) fn push_text(&mut self, text: &str) -> Vec<Value> {
        let mut events = Vec::new();
        if self.text.is_none() {
            events.push(self.start(json!({ "type": "text", "text": "" })));
            self.text = Some(String::new());
        }
        self.text.get_or_insert_default().push_str(text);
        events.push(self.delta(json!({ "type": "text_delta", "text": text })));
        events
    }

    /// Completes the text, adding what was not streamed, and closes the block.
    pub(in crate::claude) fn finish_text(&mut self, whole: &str) -> Vec<Value> {
        let missed = match &self.text {
            Some(text) => whole.strip_prefix(text.as_str()).unwrap_or_default().to_owned(),
            None => whole.to_owned(),
        };
        let mut events = if missed.is_empty() { Vec::new() } else { self.push_text(&missed) };
        if self.text.take().is_some() {
            events.push(self.stop());
        }
        events
    }

    /// Adds a complete block.
    pub(in crate::claude) fn block(&mut self, block: &Value) -> Vec<Value> {
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
        let start = self.start(empty);
        let delta = self.delta(delta);
        vec![start, delta, self.stop()]
    }

    /// Ends the message.
    pub(in crate::claude) fn end(mut self, stop_reason: Option<&str>, usage: Value) -> Vec<Value> {
        let mut events = self.finish_text("");
        events.push(self.event(json!({
            "type": "message_delta", "delta": { "stop_reason": stop_reason, "stop_sequence": null }, "usage": usage,
        })));
        events.push(self.event(json!({ "type": "message_stop" })));
        events
    }

    fn start(&mut self, block: Value) -> Value {
        self.blocks += 1;
        self.event(json!({ "type": "content_block_start", "index": self.blocks - 1, "content_block": block }))
    }

    fn delta(&self, delta: Value) -> Value {
        let index = self.blocks.saturating_sub(1);
        self.event(json!({ "type": "content_block_delta", "index": index, "delta": delta }))
    }

    fn stop(&self) -> Value {
        self.event(json!({ "type": "content_block_stop", "index": self.blocks.saturating_sub(1) }))
    }

    fn event(&self, event: Value) -> Value {
        json!({
            "type": "stream_event", "event": event, "parent_tool_use_id": self.speaker.parent,
            "session_id": self.session, "uuid": Uuid::now_v7(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_streamed_as_the_api_does_and_lost_ones_are_made_up_for() {
        let (mut stream, begun) = MessageStream::new(Uuid::nil(), "m", "model", FrameSource::default());
        let mut events = vec![begun];
        events.extend(stream.push_text("Hel"));
        events.extend(stream.finish_text("Hello"));
        events.extend(stream.block(&json!({ "type": "tool_use", "id": "c", "name": "Bash", "input": { "a": 1 } })));
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
