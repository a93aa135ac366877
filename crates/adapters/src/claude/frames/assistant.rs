//! Agents' messages and calls: a frame for each block.

use hooks::tool_names;
use protocol::{ContentBlock, HookDialect, StopReason, Usage, tool_name};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{frame_id, usage_json};

/// The agent that a frame comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::claude) struct FrameSource {
    /// The call that started it; none for the root.
    pub(in crate::claude) parent_call: Option<String>,
    /// The agent type.
    pub(in crate::claude) agent: String,
    /// The description of its task.
    pub(in crate::claude) description: String,
}

impl FrameSource {
    /// Adds the source to a frame.
    pub(in crate::claude) fn annotate(&self, frame: &mut Value) {
        frame["parent_tool_use_id"] = json!(self.parent_call);
        if self.parent_call.is_some() {
            frame["subagent_type"] = json!(self.agent);
            frame["task_description"] = json!(self.description);
        }
    }
}

/// A message without content, in the format of the provider's API.
pub(in crate::claude) fn empty_message(id: &str, model: &str, used: Usage) -> Value {
    json!({
        "id": id, "type": "message", "role": "assistant", "model": model, "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": usage_json(used),
    })
}

/// The frame of one block.
pub(in crate::claude) fn assistant_frame(
    session: Uuid,
    (seq, index): (u64, u16),
    mut message: Value,
    block: Value,
    source: &FrameSource,
) -> Value {
    message["content"] = json!([block]);
    let mut frame = json!({
        "type": "assistant", "message": message, "session_id": session, "uuid": frame_id(session, seq, index),
    });
    source.annotate(&mut frame);
    frame
}

/// A block in the format of the provider's API; `None` for opaque blocks, which only their provider can read.
pub(in crate::claude) fn block_json(block: &ContentBlock) -> Option<Value> {
    match block {
        ContentBlock::Text { text } => Some(json!({ "type": "text", "text": text })),
        ContentBlock::Thinking { text } => Some(json!({ "type": "thinking", "thinking": text, "signature": "" })),
        ContentBlock::Call(call) => {
            let (name, input) = client_tool_call(&call.tool, &call.input);
            Some(json!({ "type": "tool_use", "id": call.id, "name": name, "input": input }))
        }
        ContentBlock::Opaque { .. } => None,
    }
}

/// A call in the Claude SDK's terms. Arguments that are not an object are passed on as text.
pub(in crate::claude) fn client_tool_call(tool: &str, input: &str) -> (String, Value) {
    let input = match serde_json::from_str(input) {
        Ok(Value::Object(input)) if tool == tool_name::ASK_USER => question_input(&input),
        Ok(Value::Object(input)) => Value::Object(tool_names::args_to_dialect(tool, HookDialect::Snake, input)),
        Ok(_) | Err(_) if input.trim().is_empty() => json!({}),
        Ok(_) | Err(_) => json!({ "input": input }),
    };
    (tool_names::dialect_tool_name(tool, HookDialect::Snake).to_owned(), input)
}

/// A question to the user, in the Claude SDK's format.
fn question_input(input: &serde_json::Map<String, Value>) -> Value {
    let text = input.get("question").and_then(Value::as_str).unwrap_or_default();
    let choices = input.get("choices").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let choices: Vec<&str> = choices.iter().filter_map(Value::as_str).collect();
    questions_input(text, &choices)
}

/// One question with its choices, in the Claude SDK's format.
pub(in crate::claude) fn questions_input(question: &str, choices: &[&str]) -> Value {
    let options: Vec<Value> = choices.iter().map(|label| json!({ "label": label, "description": "" })).collect();
    json!({ "questions": [{ "question": question, "header": "Question", "options": options, "multiSelect": false }] })
}

/// The stop reason, in the terms of the provider's API.
pub(in crate::claude) fn stop_reason(reason: StopReason) -> &'static str {
    match reason {
        StopReason::End => "end_turn",
        StopReason::Calls => "tool_use",
        StopReason::Length => "max_tokens",
        StopReason::Refusal => "refusal",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_use_claude_names_and_arguments() {
        let (name, input) = client_tool_call("shell", r#"{"command":"ls","timeout_secs":3}"#);
        assert_eq!((name.as_str(), &input), ("Bash", &json!({ "command": "ls", "timeout": 3000 })));
        let (name, input) = client_tool_call("task", r#"{"agent_type":"explore","prompt":"p","mode":"background"}"#);
        assert_eq!((name.as_str(), &input["subagent_type"]), ("Agent", &json!("explore")));
        assert_eq!(input["run_in_background"], true);
        assert_eq!(client_tool_call("mcp__calc__add", "not json").1, json!({ "input": "not json" }));
        let (name, input) = client_tool_call("ask_user", r#"{"question":"Which?","choices":["a","b"]}"#);
        assert_eq!((name.as_str(), &input["questions"][0]["options"][1]["label"]), ("AskUserQuestion", &json!("b")));
    }
}
