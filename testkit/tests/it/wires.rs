//! Answers in the form of each wire.

use bosun_testkit::server::ModelServer;
use model::WireFormat;
use protocol::Usage;
use serde_json::{Value, json};

use crate::client::{End, WIRES, ask, question, send};
use crate::{WORK, hello};

fn names(events: &[Value]) -> Vec<&str> {
    let mut names: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    names.dedup();
    names
}

fn joined(events: &[Value], pointer: &str) -> String {
    events.iter().filter_map(|event| event.pointer(pointer)?.as_str()).collect()
}

#[test]
fn anthropic_answers_in_blocks_with_a_signature_under_each_thought() {
    let server = ModelServer::script(WORK).start();
    let got = ask(&server, WireFormat::Anthropic, &question(WireFormat::Anthropic, "go"));
    assert_eq!((got.status, &got.end), (Some(200), &End::Complete));
    let events = got.events();
    let block = ["content_block_start", "content_block_delta", "content_block_stop"];
    let expected =
        [&["message_start", "ping"][..], &block, &block, &block, &["message_delta", "message_stop"][..]].concat();
    assert_eq!(names(&events), expected);
    assert_eq!(joined(&events, "/delta/thinking"), "I look first.");
    assert_eq!(joined(&events, "/delta/signature").len(), 44);
    assert_eq!(joined(&events, "/delta/text"), "I look.");
    assert_eq!(joined(&events, "/delta/partial_json"), r#"{"path":"a.txt"}"#);
    let usage = json!({ "input_tokens": 10, "output_tokens": 20,
        "cache_read_input_tokens": 300, "cache_creation_input_tokens": 40 });
    assert_eq!(events[0]["message"]["usage"]["cache_read_input_tokens"], 300);
    assert_eq!(events[events.len() - 2]["usage"], usage);
    assert_eq!(events[events.len() - 2]["delta"]["stop_reason"], "tool_use");
    assert!(got.body.starts_with("event: message_start\ndata: {"), "{}", got.body);
}

#[test]
fn responses_answers_in_items_and_repeats_them_at_the_end() {
    let server = ModelServer::script(WORK).start();
    let events = ask(&server, WireFormat::Responses, &question(WireFormat::Responses, "go")).events();
    let expected = [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.reasoning_summary_part.added",
        "response.reasoning_summary_text.delta",
        "response.reasoning_summary_text.done",
        "response.reasoning_summary_part.done",
        "response.output_item.done",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.output_item.added",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.output_item.done",
        "response.completed",
    ];
    assert_eq!(names(&events), expected);
    let done: Vec<&Value> = events
        .iter()
        .filter(|event| event["type"] == "response.output_item.done")
        .map(|event| &event["item"])
        .collect();
    let last = &events[events.len() - 1]["response"];
    assert_eq!(last["output"].as_array().unwrap().iter().collect::<Vec<_>>(), done);
    assert_eq!(done[0]["encrypted_content"].as_str().unwrap().len(), 44);
    assert_eq!(last["usage"]["input_tokens"], 350);
    assert_eq!(last["usage"]["input_tokens_details"], json!({ "cached_tokens": 300, "cache_write_tokens": 40 }));
}

#[test]
fn chat_answers_in_chunks_with_usage_and_an_end_mark() {
    let server = ModelServer::script(WORK).start();
    let got = ask(&server, WireFormat::Chat, &question(WireFormat::Chat, "go"));
    let events = got.events();
    assert_eq!(joined(&events, "/choices/0/delta/reasoning_content"), "I look first.");
    assert_eq!(joined(&events, "/choices/0/delta/content"), "I look.");
    assert_eq!(joined(&events, "/choices/0/delta/tool_calls/0/function/arguments"), r#"{"path":"a.txt"}"#);
    assert_eq!(joined(&events, "/choices/0/finish_reason"), "tool_calls");
    assert_eq!(events[events.len() - 1]["usage"]["prompt_tokens"], 350);
    assert!(got.body.ends_with("data: [DONE]\n\n"), "{}", got.body);
    let mut quiet = question(WireFormat::Chat, "go");
    quiet.as_object_mut().unwrap().remove("stream_options");
    assert!(!ask(&server, WireFormat::Chat, &quiet).body.contains("usage"), "usage that nobody asked for");
}

#[test]
fn an_input_without_fields_comes_as_nothing_over_anthropic() {
    let server = ModelServer::script("{ version: 1, rules: [{ answer: [{ call: { tool: list_shells } }] }] }").start();
    let events = ask(&server, WireFormat::Anthropic, &question(WireFormat::Anthropic, "go")).events();
    assert_eq!(joined(&events, "/delta/partial_json"), "");
}

#[test]
fn an_answer_never_counts_as_more_output_than_was_allowed() {
    let server = ModelServer::script(WORK).start();
    let mut body = question(WireFormat::Anthropic, "go");
    body["max_tokens"] = 5.into();
    let events = ask(&server, WireFormat::Anthropic, &body).events();
    let end = &events[events.len() - 2];
    assert_eq!((&end["delta"]["stop_reason"], &end["usage"]["output_tokens"]), (&"max_tokens".into(), &5.into()));
    assert_eq!(server.usage_sent(), Usage { input: 10, output: 5, cache_read: 300, cache_write: 40 });
}

#[test]
fn the_conversation_reaches_the_script_over_every_wire() {
    let server = ModelServer::script(WORK).start();
    let bodies = [
        (
            WireFormat::Anthropic,
            json!([
                { "role": "assistant", "content": [{ "type": "tool_use", "id": "a", "name": "view", "input": {} }] },
                { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "a", "content": "red" }] },
            ]),
        ),
        (
            WireFormat::Responses,
            json!([
                { "type": "function_call", "call_id": "a", "name": "view", "arguments": "{}" },
                { "type": "function_call_output", "call_id": "a", "output": "red" },
            ]),
        ),
        (
            WireFormat::Chat,
            json!([
                { "role": "assistant", "content": null,
                  "tool_calls": [{ "id": "a", "type": "function", "function": { "name": "view", "arguments": "{}" } }] },
                { "role": "tool", "tool_call_id": "a", "content": "red" },
            ]),
        ),
    ];
    for (wire, more) in bodies {
        let mut body = question(wire, "go");
        let history = if wire == WireFormat::Responses { "input" } else { "messages" };
        body[history].as_array_mut().unwrap().extend(more.as_array().unwrap().iter().cloned());
        body["tools"] = match wire {
            WireFormat::Anthropic => json!([{ "name": "view", "input_schema": { "type": "object" } }]),
            WireFormat::Responses => json!([{ "type": "function", "name": "view", "parameters": {} }]),
            WireFormat::Chat => json!([{ "type": "function", "function": { "name": "view", "parameters": {} } }]),
        };
        let got = ask(&server, wire, &body);
        assert_eq!(got.status, Some(200), "{got:?}");
        let events = got.events();
        let said = ["/delta/text", "/choices/0/delta/content"].map(|place| joined(&events, place)).concat();
        let said = if wire == WireFormat::Responses { joined(&events, "/delta") } else { said };
        assert_eq!(said, "It said: red", "{wire:?}");
    }
}

#[test]
fn models_are_listed_in_the_forms_of_all_servers() {
    let server = hello().models(&["one", "two"]).start();
    let list = |head: &str, key: &str, name: &str| {
        let got = send(&server, head, "").json();
        got[key].as_array().unwrap().iter().map(|model| model[name].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(list("GET /v1/models HTTP/1.1", "data", "id"), ["one", "two"]);
    assert_eq!(
        list("GET /v1/models HTTP/1.1\r\nanthropic-version: 2023-06-01", "data", "display_name"),
        ["one", "two"]
    );
    assert_eq!(list("GET /api/tags HTTP/1.1", "models", "name"), ["one", "two"]);
    assert_eq!(send(&server, "GET /elsewhere HTTP/1.1", "").status, Some(404));
    assert_eq!(server.count(), 0, "only questions to a model count");
}

#[test]
fn a_request_that_is_no_json_or_has_no_key_is_refused() {
    let server = hello().start();
    let head = "POST /v1/messages HTTP/1.1\r\nx-api-key: k\r\nanthropic-version: 2023-06-01";
    let got = send(&server, head, "{");
    assert_eq!(got.status, Some(400));
    assert!(got.message().starts_with("the body is not JSON"), "{got:?}");
    for wire in WIRES {
        let keyed = hello().key("another").start();
        assert_eq!(ask(&keyed, wire, &question(wire, "go")).status, Some(401), "{wire:?}");
    }
}
