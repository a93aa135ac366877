//! Encodes answers as items and their events.

use model::{Delta, WireFormat};
use protocol::{StopReason, ToolCallRequest, Usage};
use serde_json::{Value, json};

use crate::server::outlet::SseFrames;
use crate::server::refusal::RequestRefusal;
use crate::server::wire::pieces::pieces;
use crate::server::wire::seal::seal;
use crate::server::wire::{AnswerEncoder, AnswerEnd, Extras};

/// Encodes one answer.
#[derive(Debug)]
pub(in crate::server::wire) struct ResponsesEncoder {
    number: u64,
    model: String,
    extras: Extras,
    refuses: bool,
    output: Vec<Value>,
    open: Option<OpenItem>,
    sequence: u64,
}

/// The current item.
#[derive(Debug)]
enum OpenItem {
    Message(String),
    Reasoning(String),
}

impl ResponsesEncoder {
    pub(in crate::server::wire) fn new(
        model: String,
        number: u64,
        forecast: Option<AnswerEnd>,
        extras: Extras,
    ) -> ResponsesEncoder {
        let refuses = forecast.is_some_and(|ending| ending.stop == StopReason::Refusal);
        ResponsesEncoder { number, model, extras, refuses, output: Vec::new(), open: None, sequence: 0 }
    }

    fn response(&self, status: &str, usage: Value) -> Value {
        json!({
            "id": format!("resp_{:06}", self.number), "object": "response", "created_at": 1_767_225_600,
            "status": status, "error": null, "incomplete_details": null, "instructions": null, "metadata": {},
            "model": self.model, "output": self.output, "parallel_tool_calls": true, "tool_choice": "auto",
            "tools": [], "temperature": 1.0, "top_p": 1.0, "usage": usage,
        })
    }

    fn text(&mut self, more: &str, out: &mut SseFrames) {
        match &mut self.open {
            Some(OpenItem::Message(text)) => text.push_str(more),
            Some(OpenItem::Reasoning(_)) | None => {
                self.close(out);
                let item = json!({
                    "id": self.id("msg"), "type": "message", "status": "in_progress", "role": "assistant",
                    "content": [],
                });
                self.item("response.output_item.added", item, out);
                let part = self.part("");
                self.event("response.content_part.added", json!({ "content_index": 0, "part": part }), "msg", out);
                self.open = Some(OpenItem::Message(more.into()));
            }
        }
        for piece in pieces(more) {
            let name = if self.refuses { "response.refusal.delta" } else { "response.output_text.delta" };
            let mut fields = json!({ "content_index": 0, "delta": piece });
            if !self.refuses {
                fields["logprobs"] = json!([]);
            }
            self.event(name, fields, "msg", out);
        }
    }

    fn thinking(&mut self, more: &str, out: &mut SseFrames) {
        match &mut self.open {
            Some(OpenItem::Reasoning(text)) => text.push_str(more),
            Some(OpenItem::Message(_)) | None => {
                self.close(out);
                let item = json!({ "id": self.id("rs"), "type": "reasoning", "summary": [] });
                self.item("response.output_item.added", item, out);
                let fields = json!({ "summary_index": 0, "part": { "type": "summary_text", "text": "" } });
                self.event("response.reasoning_summary_part.added", fields, "rs", out);
                self.open = Some(OpenItem::Reasoning(more.into()));
            }
        }
        for piece in pieces(more) {
            let fields = json!({ "summary_index": 0, "delta": piece });
            self.event("response.reasoning_summary_text.delta", fields, "rs", out);
        }
    }

    fn call(&mut self, ToolCallRequest { id, tool, input }: &ToolCallRequest, out: &mut SseFrames) {
        self.close(out);
        let item = |status, arguments: &str, own: String| {
            json!({
                "id": own, "type": "function_call", "status": status, "arguments": arguments, "call_id": id,
                "name": tool,
            })
        };
        self.item("response.output_item.added", item("in_progress", "", self.id("fc")), out);
        for piece in pieces(input) {
            self.event("response.function_call_arguments.delta", json!({ "delta": piece }), "fc", out);
        }
        self.event("response.function_call_arguments.done", json!({ "arguments": input }), "fc", out);
        self.done(item("completed", input, self.id("fc")), out);
    }

    fn close(&mut self, out: &mut SseFrames) {
        match self.open.take() {
            Some(OpenItem::Message(text)) => self.close_message(&text, out),
            Some(OpenItem::Reasoning(text)) => self.close_reasoning(&text, out),
            None => {}
        }
    }

    fn close_message(&mut self, text: &str, out: &mut SseFrames) {
        let part = self.part(text);
        if self.refuses {
            self.event("response.refusal.done", json!({ "content_index": 0, "refusal": text }), "msg", out);
        } else {
            let fields = json!({ "content_index": 0, "text": text, "logprobs": [] });
            self.event("response.output_text.done", fields, "msg", out);
        }
        self.event("response.content_part.done", json!({ "content_index": 0, "part": part }), "msg", out);
        let item = json!({
            "id": self.id("msg"), "type": "message", "status": "completed", "role": "assistant", "content": [part],
        });
        self.done(item, out);
    }

    fn close_reasoning(&mut self, text: &str, out: &mut SseFrames) {
        let part = json!({ "type": "summary_text", "text": text });
        let fields = json!({ "summary_index": 0, "text": text });
        self.event("response.reasoning_summary_text.done", fields, "rs", out);
        let fields = json!({ "summary_index": 0, "part": part });
        self.event("response.reasoning_summary_part.done", fields, "rs", out);
        let mut item = json!({ "id": self.id("rs"), "type": "reasoning", "summary": [part] });
        if self.extras.encrypted {
            item["encrypted_content"] = seal(text).into();
        }
        self.done(item, out);
    }

    fn part(&self, text: &str) -> Value {
        if self.refuses {
            return json!({ "type": "refusal", "refusal": text });
        }
        json!({ "type": "output_text", "annotations": [], "logprobs": [], "text": text })
    }

    fn done(&mut self, item: Value, out: &mut SseFrames) {
        self.item("response.output_item.done", item.clone(), out);
        self.output.push(item);
    }

    /// The id of the current item.
    fn id(&self, kind: &str) -> String {
        format!("{kind}_{:06}_{}", self.number, self.output.len())
    }

    fn item(&mut self, name: &str, item: Value, out: &mut SseFrames) {
        self.push(name, json!({ "output_index": self.output.len(), "item": item }), out);
    }

    /// Adds an event about a part of the current item.
    fn event(&mut self, name: &str, mut fields: Value, kind: &str, out: &mut SseFrames) {
        fields["item_id"] = self.id(kind).into();
        fields["output_index"] = self.output.len().into();
        self.push(name, fields, out);
    }

    fn push(&mut self, name: &str, mut fields: Value, out: &mut SseFrames) {
        fields["type"] = name.into();
        fields["sequence_number"] = self.sequence.into();
        self.sequence += 1;
        out.push(format!("event: {name}\ndata: {fields}\n\n").into_bytes());
    }
}

impl AnswerEncoder for ResponsesEncoder {
    fn begin(&mut self, out: &mut SseFrames) {
        for name in ["response.created", "response.in_progress"] {
            self.push(name, json!({ "response": self.response("in_progress", Value::Null) }), out);
        }
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
        let response = self.whole(ending);
        let name = if ending.stop == StopReason::Length { "response.incomplete" } else { "response.completed" };
        self.push(name, json!({ "response": response }), out);
    }

    fn fail(&mut self, trouble: &RequestRefusal, out: &mut SseFrames) {
        let mut response = self.response("failed", Value::Null);
        response["error"] = trouble.body(WireFormat::Responses)["error"].clone();
        response["error"]["code"] = trouble.code().unwrap_or("server_error").into();
        self.push("response.failed", json!({ "response": response }), out);
    }

    fn whole(&self, ending: AnswerEnd) -> Value {
        match ending.stop {
            StopReason::Length => {
                let mut response = self.response("incomplete", usage(ending.usage));
                response["incomplete_details"] = json!({ "reason": "max_output_tokens" });
                response
            }
            StopReason::End | StopReason::Calls | StopReason::Refusal => {
                self.response("completed", usage(ending.usage))
            }
        }
    }
}

fn usage(usage: Usage) -> Value {
    json!({
        "input_tokens": usage.total().saturating_sub(usage.output),
        "input_tokens_details": { "cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write },
        "output_tokens": usage.output,
        "output_tokens_details": { "reasoning_tokens": 0 },
        "total_tokens": usage.total(),
    })
}
