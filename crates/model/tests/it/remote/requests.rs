//! The bodies of requests, byte for byte.

use std::sync::Arc;

use bosun_model::{MessagePart, ModelMessage, ModelRequest, ToolCallPolicy, ToolSpec, WireFormat};
use futures_util::StreamExt;
use protocol::{CallId, ContentBlock, Image, ReasoningEffort, ToolCallRequest, ToolResult, ToolResultStatus};
use serde_json::json;

use super::server::{Act, KEY, Server, WIRES, http};
use crate::conversation::{Then, prompt};

fn call(id: &str, input: &str) -> ContentBlock {
    ContentBlock::Call(ToolCallRequest { id: CallId(id.into()), tool: "view".into(), input: input.into() })
}

fn opaque(wire: &str, json: &str) -> ContentBlock {
    ContentBlock::Opaque { provider: wire.into(), json: json.into() }
}

fn done(id: &str, status: ToolResultStatus, text: &str) -> (CallId, ToolResult) {
    (CallId(id.into()), ToolResult { status, text: text.into() })
}

/// A request with one of everything.
fn everything() -> ModelRequest {
    let image = Image { media: "image/png".into(), data: "aGk=".into() };
    let said = vec![
        ContentBlock::Thinking { text: "hm".into() },
        opaque("anthropic", r#"{"type":"thinking","thinking":"hm","signature":"s/+="}"#),
        opaque("responses", r#"{"id":"rs_1", "type":"reasoning","summary":[],"encrypted_content":"e/+="}"#),
        opaque("responses", r#"{"phase":"commentary"}"#),
        opaque("chat", r#"{"reasoning_content":"hm"}"#),
        ContentBlock::Text { text: "Looking.".into() },
        ContentBlock::Text { text: " \n".into() },
        opaque("chat", r#"{"extra_content":{"g":{"sig": "x/+="}}}"#),
        call("c1", r#"{"b": 1,"a":2}"#),
        call("c.2", "{oops"),
        opaque("anthropic", r#"{"type":"redacted_thinking","data":"d"}"#),
        opaque("responses", r#"{"id":"rs_2","type":"reasoning","summary":[]}"#),
        opaque("chat", "not json"),
    ];
    let answers = vec![done("c1", ToolResultStatus::Done, "text"), done("c.2", ToolResultStatus::Refused, "not JSON")];
    let parts =
        vec![MessagePart::Text("what is this?".into()), MessagePart::Text(String::new()), MessagePart::Image(image)];
    let mut request = prompt("go")
        .push(ModelMessage::Assistant { content: said })
        .push(ModelMessage::Answers { answers })
        .push(ModelMessage::User { parts })
        .push(ModelMessage::Assistant { content: vec![ContentBlock::Text { text: String::new() }] })
        .push(ModelMessage::user("  "));
    let schema = json!({ "type": "object", "properties": {} });
    request.tools = Arc::new([ToolSpec { name: "view".into(), description: "Shows.".into(), schema }]);
    request.max_output_tokens = Some(4096);
    request.effort = Some(ReasoningEffort::Medium);
    request.call_policy = ToolCallPolicy::Forbidden;
    request
}

async fn sent(wire: WireFormat, model: &str, request: ModelRequest) -> Server {
    let server = Server::start(Act::Send(http(500, "", ""))).await;
    server.model(wire, model).send(request).collect::<Vec<_>>().await;
    server
}

async fn body(wire: WireFormat, model: &str, request: ModelRequest) -> String {
    sent(wire, model, request).await.body()
}

/// A body on one line, as it is sent.
fn line(parts: &[&str]) -> String {
    parts.concat()
}

#[tokio::test]
async fn on_the_anthropic_wire() {
    let expected = [
        r#"{"model":"claude-opus-5","system":[{"type":"text","text":"You help.","cache_control":{"type":"ephemeral"}}],"#,
        r#""tools":[{"name":"view","description":"Shows.","input_schema":{"properties":{},"type":"object"}}],"#,
        r#""messages":[{"role":"user","content":[{"type":"text","text":"go"}]},"#,
        r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s/+="},"#,
        r#"{"type":"text","text":"Looking."},"#,
        r#"{"type":"tool_use","id":"c1","name":"view","input":{"b": 1,"a":2}},"#,
        r#"{"type":"tool_use","id":"c_2_b77273d7","name":"view","input":{}}]},"#,
        r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"text","is_error":false},"#,
        r#"{"type":"tool_result","tool_use_id":"c_2_b77273d7","content":"not JSON","is_error":true}]},"#,
        r#"{"role":"user","content":[{"type":"text","text":"what is this?"},"#,
        r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="},"#,
        r#""cache_control":{"type":"ephemeral"}}]}],"max_tokens":4096,"stream":true,"#,
        r#""thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"medium"},"#,
        r#""tool_choice":{"type":"none"}}"#,
    ];
    assert_eq!(body(WireFormat::Anthropic, "claude-opus-5", everything()).await, line(&expected));
}

#[tokio::test]
async fn on_the_responses_wire() {
    let expected = [
        r#"{"model":"gpt-5.6","instructions":"You help.","#,
        r#""tools":[{"type":"function","name":"view","description":"Shows.","#,
        r#""parameters":{"properties":{},"type":"object"},"strict":false}],"#,
        r#""input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"go"}]},"#,
        r#"{"id":"rs_1", "type":"reasoning","summary":[],"encrypted_content":"e/+="},"#,
        r#"{"type":"message","role":"assistant","content":"Looking.","phase":"commentary"},"#,
        r#"{"type":"function_call","call_id":"c1","name":"view","arguments":"{\"b\": 1,\"a\":2}"},"#,
        r#"{"type":"function_call","call_id":"c_2_b77273d7","name":"view","arguments":"{}"},"#,
        r#"{"type":"function_call_output","call_id":"c1","output":"text"},"#,
        r#"{"type":"function_call_output","call_id":"c_2_b77273d7","output":"not JSON"},"#,
        r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"what is this?"},"#,
        r#"{"type":"input_image","detail":"auto","image_url":"data:image/png;base64,aGk="}]}],"#,
        r#""max_output_tokens":4096,"stream":true,"store":false,"include":["reasoning.encrypted_content"],"#,
        r#""reasoning":{"effort":"medium","summary":"auto"},"tool_choice":"none","prompt_cache_key":"bosun-KEY"}"#,
    ];
    let body = body(WireFormat::Responses, "gpt-5.6", everything()).await;
    let key = body.rsplit_once("bosun-").unwrap().1.trim_end_matches("\"}").to_owned();
    assert_eq!(body.replace(&key, "KEY"), line(&expected));
}

#[tokio::test]
async fn on_the_chat_wire() {
    let expected = [
        r#"{"model":"org/local-model","tools":[{"type":"function","function":{"name":"view","description":"Shows.","#,
        r#""parameters":{"properties":{},"type":"object"}}}],"#,
        r#""messages":[{"role":"system","content":"You help."},{"role":"user","content":"go"},"#,
        r#"{"role":"assistant","content":"Looking.","reasoning_content":"hm","tool_calls":["#,
        r#"{"id":"c1","type":"function","function":{"name":"view","arguments":"{\"b\": 1,\"a\":2}"},"#,
        r#""extra_content":{"g":{"sig": "x/+="}}},"#,
        r#"{"id":"c_2_b77273d7","type":"function","function":{"name":"view","arguments":"{}"}}]},"#,
        r#"{"role":"tool","tool_call_id":"c1","content":"text"},"#,
        r#"{"role":"tool","tool_call_id":"c_2_b77273d7","content":"not JSON"},"#,
        r#"{"role":"user","content":[{"type":"text","text":"what is this?"},"#,
        r#"{"type":"image_url","image_url":{"url":"data:image/png;base64,aGk="}}]}],"#,
        r#""max_tokens":4096,"stream":true,"stream_options":{"include_usage":true},"#,
        r#""reasoning_effort":"medium","tool_choice":"none"}"#,
    ];
    assert_eq!(body(WireFormat::Chat, "org/local-model", everything()).await, line(&expected));
}

#[tokio::test]
async fn absent_values_are_not_sent() {
    let mut bare = prompt("go");
    bare.system = "".into();
    bare.call_policy = ToolCallPolicy::Forbidden;
    let expected = [
        (
            WireFormat::Anthropic,
            r#"{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"go","cache_control":{"type":"ephemeral"}}]}],"max_tokens":8192,"stream":true}"#,
        ),
        (
            WireFormat::Chat,
            r#"{"model":"m","messages":[{"role":"user","content":"go"}],"max_tokens":8192,"stream":true,"stream_options":{"include_usage":true}}"#,
        ),
    ];
    for (wire, expected) in expected {
        assert_eq!(body(wire, "m", bare.clone()).await, expected);
    }
    let responses = body(WireFormat::Responses, "gpt-4.1", bare).await;
    assert!(!responses.contains("include") && !responses.contains("tool") && !responses.contains("instructions"));
}

#[tokio::test]
async fn effort_is_not_sent_to_models_without_reasoning() {
    for wire in [WireFormat::Responses, WireFormat::Chat] {
        for (model, is_told) in [("gpt-4.1", false), ("openai/gpt-4o", false), ("gpt-5", true), ("qwen3", true)] {
            let body = body(wire, model, everything()).await;
            assert_eq!(body.contains(r#""medium""#), is_told, "{wire:?} {model}");
        }
    }
}

#[tokio::test]
async fn key_is_sent_in_the_header_of_the_protocol() {
    for (wire, path, header) in [
        (WireFormat::Anthropic, "POST /v1/messages ", format!("x-api-key: {KEY}")),
        (WireFormat::Responses, "POST /responses ", format!("authorization: Bearer {KEY}")),
        (WireFormat::Chat, "POST /chat/completions ", format!("authorization: Bearer {KEY}")),
    ] {
        let request = sent(wire, "m", prompt("go")).await.requests().remove(0);
        assert!(request.starts_with(path) && request.contains(&header), "{request}");
        assert_eq!(request.contains("anthropic-version: 2023-06-01\r\n"), wire == WireFormat::Anthropic);
    }
}

#[tokio::test]
async fn debug_output_of_a_model_hides_the_key() {
    for wire in WIRES {
        let server = Server::start(Act::Send(http(500, "", ""))).await;
        let model = server.model(wire, "m");
        assert!(!format!("{model:?}").contains(KEY));
        let bucket = model.facts().bucket_key.clone().unwrap();
        assert!(bucket.starts_with("test/") && bucket.ends_with("/m") && !bucket.contains("sk-"), "{bucket}");
    }
}
