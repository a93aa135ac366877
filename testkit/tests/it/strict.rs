//! Requests that a strict provider refuses, and why.

use bosun_testkit::server::ModelServer;
use model::WireFormat;
use serde_json::{Value, json};

use crate::client::{ask, question};
use crate::hello;

/// A stream's question with more messages after the user's first.
fn with(wire: WireFormat, more: Value) -> Value {
    let mut body = question(wire, "go");
    let history = if wire == WireFormat::Responses { "input" } else { "messages" };
    body[history].as_array_mut().unwrap().extend(more.as_array().unwrap().iter().cloned());
    body["tools"] = match wire {
        WireFormat::Anthropic => json!([{ "name": "view", "input_schema": { "type": "object" } }]),
        WireFormat::Responses => json!([{ "type": "function", "name": "view", "parameters": {} }]),
        WireFormat::Chat => json!([{ "type": "function", "function": { "name": "view", "parameters": {} } }]),
    };
    body
}

fn without(mut body: Value, key: &str) -> Value {
    body.as_object_mut().unwrap().remove(key);
    body
}

#[track_caller]
fn assert_refused(server: &ModelServer, wire: WireFormat, body: &Value, why: &str) {
    let got = ask(server, wire, body);
    assert_eq!(got.status, Some(400), "{why}: {got:?}");
    assert_eq!(got.message(), why);
}

#[test]
fn anthropic_refuses_what_the_provider_would() {
    let used = |id: &str| json!({ "type": "tool_use", "id": id, "name": "view", "input": {} });
    let said = |blocks: Value| json!({ "role": "assistant", "content": blocks });
    let heard = |blocks: Value| json!({ "role": "user", "content": blocks });
    let result = |id: &str| json!({ "type": "tool_result", "tool_use_id": id, "content": "x" });
    let text = |text: &str| json!({ "type": "text", "text": text });
    let (a, b) = (used("a"), used("b"));
    let cases = [
        (json!([said(json!([a]))]), "the call `a` has no answer in the message after it"),
        (
            json!([said(json!([a, b])), heard(json!([result("a")]))]),
            "the call `b` has no answer in the message after it",
        ),
        (json!([heard(json!([result("z")]))]), "the answer to `z` has no call in the message before it"),
        (
            json!([said(json!([a])), heard(json!([result("a")])), said(json!([a])), heard(json!([result("a")]))]),
            "the call id `a` is used twice",
        ),
        (
            json!([said(json!([a])), heard(json!([text("so"), result("a")]))]),
            "messages.2: the tool_result of `a` must come first in its message",
        ),
        (json!([said(json!([used("a:1")]))]), "messages.1.content.0.id: `a:1` does not match ^[a-zA-Z0-9_-]+$"),
        (
            json!([said(json!([{ "type": "tool_use", "id": "a", "name": "view", "input": "{}" }]))]),
            "messages.1.content.0.input: must be an object",
        ),
        (
            json!([said(json!([{ "type": "thinking", "thinking": "mine", "signature": "forged" }]))]),
            "messages.1.content.0: invalid `signature` in `thinking` block",
        ),
        (
            json!([said(json!([{ "type": "thinking", "thinking": "mine" }]))]),
            "messages.1.content.0.signature: field required",
        ),
        (json!([heard(json!([text("")]))]), "messages.1.content.0.text: text must not be empty"),
        (json!([heard(json!(""))]), "messages.1.content: text must not be empty"),
        (json!([heard(json!([]))]), "messages.1.content: content must not be empty"),
        (json!([heard(json!([{ "type": "song" }]))]), "messages.1.content.0: unknown type `song`"),
        (json!([{ "role": "tool", "content": "x" }]), "messages.1: unknown role `tool`"),
    ];
    let server = hello().start();
    for (more, why) in cases {
        assert_refused(&server, WireFormat::Anthropic, &with(WireFormat::Anthropic, more), why);
    }
    let answered = json!([said(json!([a])), heard(json!([result("a")]))]);
    let no_tools = without(with(WireFormat::Anthropic, answered), "tools");
    assert_refused(
        &server,
        WireFormat::Anthropic,
        &no_tools,
        "tools: field required, since messages contain tool calls",
    );
    for key in ["model", "max_tokens", "messages"] {
        let body = without(question(WireFormat::Anthropic, "go"), key);
        assert_refused(&server, WireFormat::Anthropic, &body, &format!("{key}: field required"));
    }
}

#[test]
fn anthropic_refuses_too_many_marks_and_too_little_thinking() {
    let server = hello().start();
    let mut body = question(WireFormat::Anthropic, "go");
    let marked = json!({ "type": "text", "text": "x", "cache_control": { "type": "ephemeral" } });
    body["system"] = json!([marked, marked, marked, marked, marked]);
    assert_refused(&server, WireFormat::Anthropic, &body, "at most 4 blocks may have cache_control");
    let mut body = question(WireFormat::Anthropic, "go");
    body["thinking"] = json!({ "type": "enabled", "budget_tokens": 1024 });
    let why = "thinking.budget_tokens: must be at least 1024 and less than max_tokens";
    assert_refused(&server, WireFormat::Anthropic, &body, why);
}

#[test]
fn responses_refuses_what_the_provider_would() {
    let call = json!({ "type": "function_call", "call_id": "a", "name": "view", "arguments": "{}" });
    let output = json!({ "type": "function_call_output", "call_id": "a", "output": "x" });
    let thought =
        |sealed: Value| json!({ "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": sealed });
    let cases = [
        (json!([call]), "the call `a` has no answer in the message after it"),
        (json!([output]), "the answer to `a` has no call in the message before it"),
        (json!([call, output, call, output]), "the call id `a` is used twice"),
        (
            json!([thought("forged".into()), call, output]),
            "input.1: the encrypted_content of item `rs_1` could not be verified",
        ),
        (
            json!([thought(Value::Null), call, output]),
            "input.1: item `rs_1` is not found: nothing is stored, and it has no encrypted_content",
        ),
        (json!([{ "type": "song" }]), "input.1: unknown type `song`"),
        (json!([{ "role": "tool", "content": "x" }]), "input.1: unknown role `tool`"),
        (
            json!([{ "role": "user", "content": [{ "type": "input_text", "text": "" }] }]),
            "input.1.content.0.text: text must not be empty",
        ),
        (
            json!([{ "role": "assistant", "content": [{ "type": "input_text", "text": "x" }] }]),
            "input.1.content.0: unknown type `input_text`",
        ),
    ];
    let server = hello().start();
    for (more, why) in cases {
        assert_refused(&server, WireFormat::Responses, &with(WireFormat::Responses, more), why);
    }
    for key in ["model", "input"] {
        let body = without(question(WireFormat::Responses, "go"), key);
        assert_refused(&server, WireFormat::Responses, &body, &format!("{key}: field required"));
    }
}

#[test]
fn reasoning_is_accepted_as_it_was_said_and_only_before_what_it_led_to() {
    let server = ModelServer::script(crate::WORK).start();
    let said = ask(&server, WireFormat::Responses, &question(WireFormat::Responses, "go")).events();
    let items = said[said.len() - 1]["response"]["output"].as_array().unwrap().clone();
    let output = json!({ "type": "function_call_output", "call_id": "call-1-1", "output": "x" });
    let whole: Vec<Value> = items.iter().cloned().chain([output]).collect();
    assert_eq!(ask(&server, WireFormat::Responses, &with(WireFormat::Responses, whole.into())).status, Some(200));
    let alone = with(WireFormat::Responses, json!([items[0]]));
    let why =
        format!("item `{}` of type `reasoning` lacks its required following item", items[0]["id"].as_str().unwrap());
    assert_refused(&server, WireFormat::Responses, &alone, &why);
}

#[test]
fn chat_refuses_what_the_provider_would() {
    let call = json!({ "id": "a", "type": "function", "function": { "name": "view", "arguments": "{}" } });
    let said = json!({ "role": "assistant", "content": null, "tool_calls": [call] });
    let answer = json!({ "role": "tool", "tool_call_id": "a", "content": "x" });
    let cases = [
        (json!([said]), "the call `a` has no answer in the message after it"),
        (json!([answer]), "the answer to `a` has no call in the message before it"),
        (json!([said, answer, said, answer]), "the call id `a` is used twice"),
        (json!([{ "role": "robot", "content": "x" }]), "messages.1: unknown role `robot`"),
        (
            json!([{ "role": "assistant", "content": null }]),
            "messages.1.content: field required unless there are tool_calls",
        ),
        (json!([{ "role": "user", "content": "" }]), "messages.1.content: text must not be empty"),
        (json!([{ "role": "tool", "content": "x" }]), "messages.1.tool_call_id: field required"),
        (
            json!([{ "role": "user", "content": [{ "type": "song", "text": "x" }] }]),
            "messages.1.content.0: unknown type `song`",
        ),
    ];
    let server = hello().start();
    for (more, why) in cases {
        assert_refused(&server, WireFormat::Chat, &with(WireFormat::Chat, more), why);
    }
    for key in ["model", "messages"] {
        let body = without(question(WireFormat::Chat, "go"), key);
        assert_refused(&server, WireFormat::Chat, &body, &format!("{key}: field required"));
    }
}
