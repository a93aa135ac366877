//! Encodes answers as chunks.

use model::{Delta, WireFormat};
use protocol::{StopReason, ToolCallRequest, Usage};
use serde_json::{Value, json};

use crate::server::outlet::SseFrames;
use crate::server::refusal::RequestRefusal;
use crate::server::wire::pieces::pieces;
use crate::server::wire::{AnswerEncoder, AnswerEnd, Extras};

/// Encodes one answer.
#[derive(Debug)]
pub(in crate::server::wire) struct ChatEncoder {
    id: String,
    model: String,
    extras: Extras,
    /// The field for text: a refusal has its own.
    field: &'static str,
    text: String,
    thinking: String,
    calls: Vec<Value>,
}

impl ChatEncoder {
    pub(in crate::server::wire) fn new(
        model: String,
        number: u64,
        forecast: Option<AnswerEnd>,
        extras: Extras,
    ) -> ChatEncoder {
        let refuses = forecast.is_some_and(|ending| ending.stop == StopReason::Refusal);
        ChatEncoder {
            id: format!("chatcmpl-{number:06}"),
            model,
            extras,
            field: if refuses { "refusal" } else { "content" },
            text: String::new(),
            thinking: String::new(),
            calls: Vec::new(),
        }
    }

    fn chunk(&self, choices: Value) -> Value {
        let mut chunk = json!({
            "id": self.id, "object": "chat.completion.chunk", "created": CREATED, "model": self.model,
            "choices": choices,
        });
        if self.extras.usage {
            chunk["usage"] = Value::Null;
        }
        chunk
    }

    fn delta(&self, delta: Value, out: &mut SseFrames) {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": null });
        out.push(data(&self.chunk(json!([choice]))));
    }

    fn call(&mut self, ToolCallRequest { id, tool, input }: &ToolCallRequest, out: &mut SseFrames) {
        let index = self.calls.len();
        let head =
            json!({ "index": index, "id": id, "type": "function", "function": { "name": tool, "arguments": "" } });
        self.delta(json!({ "tool_calls": [head] }), out);
        for piece in pieces(input) {
            self.delta(json!({ "tool_calls": [{ "index": index, "function": { "arguments": piece } }] }), out);
        }
        self.calls.push(json!({ "id": id, "type": "function", "function": { "name": tool, "arguments": input } }));
    }
}

impl AnswerEncoder for ChatEncoder {
    fn begin(&mut self, out: &mut SseFrames) {
        self.delta(json!({ "role": "assistant", "content": "" }), out);
    }

    fn say(&mut self, delta: &Delta, out: &mut SseFrames) {
        match delta {
            Delta::Text(more) => {
                self.text.push_str(more);
                for piece in pieces(more) {
                    self.delta(json!({ self.field: piece }), out);
                }
            }
            Delta::Thinking(more) => {
                self.thinking.push_str(more);
                for piece in pieces(more) {
                    self.delta(json!({ "reasoning_content": piece }), out);
                }
            }
            Delta::Call(call) => self.call(call, out),
            Delta::Opaque { .. } | Delta::Done { .. } => {}
        }
    }

    fn end(&mut self, ending: AnswerEnd, out: &mut SseFrames) {
        let last = json!({ "index": 0, "delta": {}, "finish_reason": reason(ending.stop) });
        out.push(data(&self.chunk(json!([last]))));
        if self.extras.usage {
            let mut chunk = self.chunk(json!([]));
            chunk["usage"] = usage(ending.usage);
            out.push(data(&chunk));
        }
        out.push(b"data: [DONE]\n\n".to_vec());
    }

    fn fail(&mut self, trouble: &RequestRefusal, out: &mut SseFrames) {
        out.push(data(&trouble.body(WireFormat::Chat)));
    }

    fn whole(&self, ending: AnswerEnd) -> Value {
        let mut message = json!({ "role": "assistant", "content": null, "refusal": null });
        if !self.text.is_empty() {
            message[self.field] = self.text.as_str().into();
        }
        if !self.thinking.is_empty() {
            message["reasoning_content"] = self.thinking.as_str().into();
        }
        if !self.calls.is_empty() {
            message["tool_calls"] = self.calls.clone().into();
        }
        json!({
            "id": self.id, "object": "chat.completion", "created": CREATED, "model": self.model,
            "choices": [{ "index": 0, "message": message, "finish_reason": reason(ending.stop), "logprobs": null }],
            "usage": usage(ending.usage),
        })
    }
}

const CREATED: u64 = 1_767_225_600;

fn data(value: &Value) -> Vec<u8> {
    format!("data: {value}\n\n").into_bytes()
}

fn reason(stop: StopReason) -> &'static str {
    match stop {
        StopReason::End | StopReason::Refusal => "stop",
        StopReason::Calls => "tool_calls",
        StopReason::Length => "length",
    }
}

fn usage(usage: Usage) -> Value {
    let input = usage.total().saturating_sub(usage.output);
    json!({
        "prompt_tokens": input,
        "completion_tokens": usage.output,
        "total_tokens": usage.total(),
        "prompt_tokens_details": { "cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write },
        "completion_tokens_details": { "reasoning_tokens": 0 },
    })
}
