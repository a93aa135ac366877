//! Encodes answers as events.

use model::{Delta, WireFormat};
use protocol::{StopReason, ToolCallRequest, Usage};
use serde_json::{Value, json};

use crate::server::outlet::SseFrames;
use crate::server::refusal::RequestRefusal;
use crate::server::wire::pieces::pieces;
use crate::server::wire::seal::seal;
use crate::server::wire::{AnswerEncoder, AnswerEnd};

/// Encodes one answer.
#[derive(Debug)]
pub(in crate::server::wire) struct AnthropicEncoder {
    id: String,
    model: String,
    input: Usage,
    content: Vec<Value>,
    open: Option<OpenBlock>,
}

/// The current block.
#[derive(Debug)]
enum OpenBlock {
    Text(String),
    Thinking(String),
}

impl AnthropicEncoder {
    pub(in crate::server::wire) fn new(model: String, number: u64, forecast: Option<AnswerEnd>) -> AnthropicEncoder {
        let input = forecast.map_or(Usage::default(), |ending| ending.usage);
        AnthropicEncoder { id: format!("msg_{number:06}"), model, input, content: Vec::new(), open: None }
    }

    fn message(&self, content: &[Value], stop: Value, usage: Value) -> Value {
        json!({
            "id": self.id, "type": "message", "role": "assistant", "model": self.model, "content": content,
            "stop_reason": stop, "stop_sequence": null, "usage": usage,
        })
    }

    fn text(&mut self, more: &str, out: &mut SseFrames) {
        match &mut self.open {
            Some(OpenBlock::Text(text)) => text.push_str(more),
            Some(OpenBlock::Thinking(_)) | None => {
                self.close(out);
                self.start(json!({ "type": "text", "text": "" }), out);
                self.open = Some(OpenBlock::Text(more.into()));
            }
        }
        for piece in pieces(more) {
            self.delta(json!({ "type": "text_delta", "text": piece }), out);
        }
    }

    fn thinking(&mut self, more: &str, out: &mut SseFrames) {
        match &mut self.open {
            Some(OpenBlock::Thinking(text)) => text.push_str(more),
            Some(OpenBlock::Text(_)) | None => {
                self.close(out);
                self.start(json!({ "type": "thinking", "thinking": "", "signature": "" }), out);
                self.open = Some(OpenBlock::Thinking(more.into()));
            }
        }
        for piece in pieces(more) {
            self.delta(json!({ "type": "thinking_delta", "thinking": piece }), out);
        }
    }

    fn call(&mut self, call: &ToolCallRequest, out: &mut SseFrames) {
        self.close(out);
        let ToolCallRequest { id, tool, input } = call;
        self.start(json!({ "type": "tool_use", "id": id, "name": tool, "input": {} }), out);
        self.delta(json!({ "type": "input_json_delta", "partial_json": "" }), out);
        // The provider sends nothing for an input without fields.
        if input != "{}" {
            for piece in pieces(input) {
                self.delta(json!({ "type": "input_json_delta", "partial_json": piece }), out);
            }
        }
        let input: Value = serde_json::from_str(input).unwrap_or_else(|_| json!({}));
        self.stop(json!({ "type": "tool_use", "id": id, "name": tool, "input": input }), out);
    }

    fn close(&mut self, out: &mut SseFrames) {
        match self.open.take() {
            Some(OpenBlock::Text(text)) => self.stop(json!({ "type": "text", "text": text }), out),
            Some(OpenBlock::Thinking(text)) => {
                let signature = seal(&text);
                self.delta(json!({ "type": "signature_delta", "signature": signature }), out);
                self.stop(json!({ "type": "thinking", "thinking": text, "signature": signature }), out);
            }
            None => {}
        }
    }

    fn start(&self, block: Value, out: &mut SseFrames) {
        out.push(event(&json!({ "type": "content_block_start", "index": self.content.len(), "content_block": block })));
    }

    fn delta(&self, delta: Value, out: &mut SseFrames) {
        out.push(event(&json!({ "type": "content_block_delta", "index": self.content.len(), "delta": delta })));
    }

    fn stop(&mut self, block: Value, out: &mut SseFrames) {
        out.push(event(&json!({ "type": "content_block_stop", "index": self.content.len() })));
        self.content.push(block);
    }
}

impl AnswerEncoder for AnthropicEncoder {
    fn begin(&mut self, out: &mut SseFrames) {
        let message = self.message(&[], Value::Null, usage(Usage { output: self.input.output.min(1), ..self.input }));
        out.push(event(&json!({ "type": "message_start", "message": message })));
        out.push(event(&json!({ "type": "ping" })));
    }

    fn say(&mut self, delta: &Delta, out: &mut SseFrames) {
        match delta {
            Delta::Text(more) => self.text(more, out),
            Delta::Thinking(more) => self.thinking(more, out),
            Delta::Call(call) => self.call(call, out),
            Delta::Opaque { .. } | Delta::Done { .. } => {}
        }
    }

    fn end(&mut self, ending: AnswerEnd, out: &mut SseFrames) {
        self.close(out);
        let delta = json!({ "stop_reason": reason(ending.stop), "stop_sequence": null });
        out.push(event(&json!({ "type": "message_delta", "delta": delta, "usage": usage(ending.usage) })));
        out.push(event(&json!({ "type": "message_stop" })));
    }

    fn fail(&mut self, trouble: &RequestRefusal, out: &mut SseFrames) {
        out.push(event(&trouble.body(WireFormat::Anthropic)));
    }

    fn whole(&self, ending: AnswerEnd) -> Value {
        self.message(&self.content, reason(ending.stop).into(), usage(ending.usage))
    }
}

fn event(data: &Value) -> Vec<u8> {
    let name = data["type"].as_str().unwrap_or_default();
    format!("event: {name}\ndata: {data}\n\n").into_bytes()
}

fn reason(stop: StopReason) -> &'static str {
    match stop {
        StopReason::End => "end_turn",
        StopReason::Calls => "tool_use",
        StopReason::Length => "max_tokens",
        StopReason::Refusal => "refusal",
    }
}

fn usage(usage: Usage) -> Value {
    json!({
        "input_tokens": usage.input,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "output_tokens": usage.output,
    })
}
