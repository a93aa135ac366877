//! A model that sends the given pieces.

use std::sync::Arc;

use bosun_model::{
    Delta, Deltas, LenientModel, Model, ModelFacts, ModelMessage, ModelReply, ModelRequest, ModelTier, ToolCallPolicy,
    ToolSpec,
};
use futures_util::{FutureExt, StreamExt, stream};
use protocol::{ContentBlock, StopReason, Timestamp, Usage};
use serde_json::{Value, json};

const SMALL: ModelFacts = ModelFacts { tier: ModelTier::Small, ..ModelFacts::UNKNOWN };

#[derive(Debug)]
struct Said(Vec<Delta>);

impl Model for Said {
    fn name(&self) -> &str {
        "said/it"
    }

    fn facts(&self) -> &ModelFacts {
        &SMALL
    }

    fn send(&self, _request: ModelRequest) -> Deltas {
        stream::iter(self.0.clone().into_iter().map(Ok)).boxed()
    }
}

fn tool(name: &str, properties: Value) -> ToolSpec {
    let schema = json!({ "type": "object", "properties": properties });
    ToolSpec { name: name.into(), description: String::new(), schema }
}

pub(crate) fn request(calls: ToolCallPolicy) -> ModelRequest {
    let text = json!({ "type": "string" });
    let number = json!({ "type": ["integer", "null"] });
    let tools = [
        tool("view", json!({ "path": text, "from": number, "to": number })),
        tool("edit", json!({ "path": text, "old": text, "new": text, "all": { "type": "boolean" } })),
        tool("shell", json!({ "command": text, "timeout": number })),
        tool("todos", json!({})),
    ];
    ModelRequest {
        agent: "main".into(),
        path: "/root".into(),
        requested_at: Timestamp(0),
        turn: 3,
        attempt: 1,
        system: Arc::default(),
        messages: vec![ModelMessage::user("go")].into(),
        tools: tools.into(),
        call_policy: calls,
        max_output_tokens: None,
        effort: None,
    }
}

pub(crate) fn lenient(deltas: Vec<Delta>) -> LenientModel {
    LenientModel::new(Arc::new(Said(deltas)))
}

pub(crate) fn done(stop: StopReason) -> Delta {
    Delta::Done { stop, usage: Usage::default(), model: "m".into() }
}

/// Returns the pieces after the lenient reader.
pub(crate) fn pieces(deltas: Vec<Delta>, calls: ToolCallPolicy) -> Vec<Delta> {
    let deltas = lenient(deltas).send(request(calls)).map(Result::unwrap).collect::<Vec<_>>();
    deltas.now_or_never().unwrap()
}

/// Returns an answer after the lenient reader.
pub(crate) fn reply(deltas: Vec<Delta>, calls: ToolCallPolicy) -> ModelReply {
    ModelReply::collect(lenient(deltas).send(request(calls))).now_or_never().unwrap().unwrap()
}

/// Returns a complete text after the lenient reader.
pub(crate) fn read(text: &str) -> ModelReply {
    reply(vec![Delta::Text(text.into()), done(StopReason::End)], ToolCallPolicy::Allowed)
}

/// The same for a text in pieces of this many characters.
pub(crate) fn read_in_pieces(text: &str, size: usize, stop: StopReason) -> ModelReply {
    let chars: Vec<char> = text.chars().collect();
    let pieces = chars.chunks(size).map(|piece| Delta::Text(piece.iter().collect()));
    reply(pieces.chain([done(stop)]).collect(), ToolCallPolicy::Allowed)
}

/// An answer as lines that are easy to compare.
pub(crate) fn lines(reply: &ModelReply) -> Vec<String> {
    let line = |block: &ContentBlock| match block {
        ContentBlock::Text { text } => format!("says {text}"),
        ContentBlock::Thinking { text } => format!("thinks {text}"),
        ContentBlock::Call(call) => format!("calls {} {}", call.tool, call.input),
        ContentBlock::Opaque { json, .. } => format!("opaque {json}"),
    };
    reply.content.iter().map(line).collect()
}

/// An answer that is one text.
pub(crate) fn only(text: &str) -> Vec<ContentBlock> {
    vec![ContentBlock::Text { text: text.into() }]
}
