//! Answers as providers stream them.

use bosun_model::WireFormat::{Anthropic, Chat, Responses};
use bosun_model::{Delta, ModelReply, WireFormat};
use protocol::{CallId, ContentBlock, StopReason, ToolCallRequest, Usage};

use super::server::{Act, Server, WIRES, answer, deltas, events, recorded};
use crate::conversation::prompt;

fn call(id: &str, tool: &str, input: &str) -> ContentBlock {
    ContentBlock::Call(ToolCallRequest { id: CallId(id.into()), tool: tool.into(), input: input.into() })
}

fn text(text: &str) -> ContentBlock {
    ContentBlock::Text { text: text.into() }
}

fn visible(content: Vec<ContentBlock>) -> Vec<ContentBlock> {
    content.into_iter().filter(|block| !matches!(block, ContentBlock::Opaque { .. })).collect()
}

#[tokio::test]
async fn recorded_answer_is_the_same_with_every_protocol() {
    for (wire, model, thought, ids) in [
        (Anthropic, "claude-sonnet-5-20260901", "Both files, \"a\" and b: 漢\n", ["toolu_01A", "toolu_01B"]),
        (Responses, "gpt-5.6-2026-08-01", "**Looking**\n\nAt both.", ["call_A", "call_B"]),
        (Chat, "gpt-5.6-2026-08-01", "Both: \"a\", 漢", ["call_A", "call_B"]),
    ] {
        let reply = answer(wire, recorded(wire)).await.unwrap();
        let expected = [
            ContentBlock::Thinking { text: thought.into() },
            text("I will look at both."),
            call(ids[0], "view", r#"{"path": "a.txt"}"#),
            call(ids[1], "list", "{}"),
        ];
        assert_eq!(visible(reply.content), expected, "{wire:?}");
        assert_eq!((reply.stop, reply.model.as_str()), (StopReason::Calls, model));
        assert_eq!(reply.usage, Usage { input: 12, output: 89, cache_read: 4000, cache_write: 300 });
    }
}

#[tokio::test]
async fn text_is_passed_on_as_it_arrives() {
    for wire in WIRES {
        let sent = deltas(wire, &events(recorded(wire)), prompt("go")).await;
        let words: Vec<_> = sent.iter().filter(|delta| matches!(delta, Ok(Delta::Text(_)))).collect();
        assert_eq!(words.len(), 2, "{wire:?}");
        assert!(matches!(sent.last(), Some(Ok(Delta::Done { .. }))));
    }
}

/// An Anthropic answer of one block.
fn anthropic(block: &str, deltas: &[&str], stop: &str) -> String {
    let mut body = format!(
        "data: {{\"type\":\"message_start\",\"message\":{{\"usage\":{{\"input_tokens\":3,\"output_tokens\":1}}}}}}\n\n\
         data: {{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{block}}}\n\n"
    );
    for delta in deltas {
        body.push_str(&format!("data: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{delta}}}\n\n"));
    }
    body.push_str("data: {\"type\":\"content_block_stop\",\"index\":0}\n\n");
    body.push_str(&format!(
        "data: {{\"type\":\"message_delta\",\"delta\":{stop}}}\n\ndata: {{\"type\":\"message_stop\"}}\n\n"
    ));
    body
}

/// A Chat answer of one delta.
fn chat(delta: &str, finish: &str) -> String {
    format!(
        "data: {{\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":null}}]}}\n\n\
         data: {{\"choices\":[{{\"index\":0,\"delta\":{{}},\"finish_reason\":\"{finish}\"}}]}}\n\ndata: [DONE]\n\n"
    )
}

/// A Responses answer of one finished item.
fn responses(item: &str, end: &str, response: &str) -> String {
    format!(
        "data: {{\"type\":\"response.output_item.done\",\"item\":{item}}}\n\n\
         data: {{\"type\":\"response.{end}\",\"response\":{response}}}\n\n"
    )
}

async fn ends(wire: WireFormat, body: &str) -> (Vec<ContentBlock>, StopReason) {
    let ModelReply { content, stop, .. } = answer(wire, body).await.unwrap();
    (content, stop)
}

#[tokio::test]
async fn incomplete_call_at_the_length_limit_is_dropped() {
    let half = r#"{"path": "a"#;
    let tool = r#"{"type":"tool_use","id":"1","name":"view","input":{}}"#;
    let piece = r#"{"type":"input_json_delta","partial_json":"{\"path\": \"a"}"#;
    let item =
        format!(r#"{{"type":"function_call","status":"incomplete","call_id":"1","name":"view","arguments":{half:?}}}"#);
    let pieces =
        format!(r#"{{"tool_calls":[{{"index":0,"id":"1","function":{{"name":"view","arguments":{half:?}}}}}]}}"#);
    for (wire, body) in [
        (Anthropic, anthropic(tool, &[piece], r#"{"stop_reason":"max_tokens"}"#)),
        (Anthropic, anthropic(tool, &[], r#"{"stop_reason":"max_tokens"}"#)),
        (Responses, responses(&item, "incomplete", r#"{"incomplete_details":{"reason":"max_output_tokens"}}"#)),
        (Chat, chat(&pieces, "length")),
    ] {
        assert_eq!(ends(wire, &body).await, (vec![], StopReason::Length), "{body}");
    }
}

#[tokio::test]
async fn refusal_is_recognised() {
    let words = r#"{"type":"text","text":"I will not."}"#;
    let details = r#"{"stop_reason":"refusal","stop_details":{"type":"refusal","explanation":"I will not."}}"#;
    let item = r#"{"type":"message","content":[{"type":"refusal","refusal":"I will not."}]}"#;
    let said = r#"{"type":"message","content":[{"type":"output_text","text":"I will not."}]}"#;
    for (wire, body) in [
        (Anthropic, anthropic(words, &[], r#"{"stop_reason":"refusal"}"#)),
        (Anthropic, anthropic(r#"{"type":"text","text":""}"#, &[], details)),
        (Responses, responses(item, "completed", "{}")),
        (Responses, responses(said, "incomplete", r#"{"incomplete_details":{"reason":"content_filter"}}"#)),
        (Chat, chat(r#"{"refusal":"I will not."}"#, "stop")),
        (Chat, chat(r#"{"content":"I will not."}"#, "content_filter")),
    ] {
        assert_eq!(ends(wire, &body).await, (vec![text("I will not.")], StopReason::Refusal), "{body}");
    }
}

#[tokio::test]
async fn other_stop_reasons_count_as_a_normal_end() {
    let words = r#"{"type":"text","text":"Hi"}"#;
    let item = r#"{"type":"message","content":[{"type":"output_text","text":"Hi"}]}"#;
    for (wire, body) in [
        (Anthropic, anthropic(words, &[], r#"{"stop_reason":"end_turn"}"#)),
        (Anthropic, anthropic(words, &[], r#"{"stop_reason":"pause_turn"}"#)),
        (Anthropic, anthropic(words, &[], r#"{"stop_reason":"stop_sequence"}"#)),
        (Anthropic, anthropic(words, &[], r#"{"stop_reason":"something_new"}"#)),
        (Responses, responses(item, "completed", "{}")),
        (Responses, responses(item, "incomplete", r#"{"incomplete_details":{"reason":"something_new"}}"#)),
        (Chat, chat(r#"{"content":"Hi"}"#, "stop")),
        (Chat, chat(r#"{"content":[{"type":"text","text":"Hi"}]}"#, "something_new")),
        (Chat, chat(r#"{"content":"Hi"}"#, "tool_calls")),
    ] {
        assert_eq!(ends(wire, &body).await, (vec![text("Hi")], StopReason::End), "{body}");
    }
}

#[tokio::test]
async fn deviations_from_the_format_are_accepted() {
    let object =
        r#"{"tool_calls":[{"id":"1","function":{"name":"a","arguments":{"x":1}}},{"id":"2","function":{"name":"b"}}]}"#;
    let same = r#"{"tool_calls":[{"index":0,"id":"1","function":{"name":"a","arguments":"{\"x\":1}"}},{"index":0,"id":"2","function":{"name":"b","arguments":null}}]}"#;
    let whole = r#"{"type":"tool_use","id":"1","name":"a","input":{"x":1}}"#;
    let [a, b] = [call("1", "a", r#"{"x":1}"#), call("2", "b", "{}")];
    for (wire, body, expected) in [
        (Chat, chat(object, "stop"), vec![a.clone(), b.clone()]),
        (Chat, chat(same, "tool_calls"), vec![a.clone(), b]),
        (Chat, chat(same, "tool_calls").replace("data: [DONE]\n\n", ""), vec![a.clone(), call("2", "b", "{}")]),
        (Anthropic, anthropic(whole, &[], r#"{"stop_reason":"tool_use"}"#), vec![a.clone()]),
        (Anthropic, anthropic(whole, &[], r#"{"stop_reason":"tool_use"}"#).replace("\n", "\r\n"), vec![a]),
    ] {
        assert_eq!(ends(wire, &body).await, (expected, StopReason::Calls), "{body}");
    }
}

#[tokio::test]
async fn calls_without_ids_and_indexes_are_told_apart_by_their_names_and_arguments() {
    let two = |name: &str, first: &str| {
        let second = r#""arguments":"{\"y\":2}""#;
        chat(
            &format!(
                r#"{{"tool_calls":[{{"id":"","function":{{"name":"a","arguments":{first:?}}}}},{{"index":null,"id":null,"function":{{"name":"{name}",{second}}}}}]}}"#
            ),
            "stop",
        )
    };
    for (body, expected) in [
        (two("b", r#"{"x":1}"#), [call("", "a", r#"{"x":1}"#), call("", "b", r#"{"y":2}"#)]),
        (two("b", ""), [call("", "a", "{}"), call("", "b", r#"{"y":2}"#)]),
        (two("a", r#"{"x":1}"#), [call("", "a", r#"{"x":1}"#), call("", "a", r#"{"y":2}"#)]),
    ] {
        assert_eq!(ends(Chat, &body).await, (expected.to_vec(), StopReason::Calls), "{body}");
    }
    let named_each_time = r#"{"tool_calls":[{"index":0,"id":"1","function":{"name":"a","arguments":"{\"x\":{}"}},{"index":0,"function":{"name":"a","arguments":"}"}}]}"#;
    let whole = vec![call("1", "a", r#"{"x":{}}"#)];
    assert_eq!(ends(Chat, &chat(named_each_time, "stop")).await, (whole, StopReason::Calls));
}

#[tokio::test]
async fn reasoning_is_read_under_either_name() {
    let body = chat(r#"{"reasoning_content":"","reasoning":"hm","content":"Hi"}"#, "stop");
    let expected = vec![ContentBlock::Thinking { text: "hm".into() }, text("Hi")];
    assert_eq!(ends(Chat, &body).await, (expected, StopReason::End));
}

#[tokio::test]
async fn missing_usage_is_zero_and_missing_model_is_the_requested_one() {
    let reply = answer(Chat, &chat(r#"{"content":"Hi"}"#, "stop")).await.unwrap();
    assert_eq!((reply.usage, reply.model.as_str()), (Usage::default(), "asked"));
}

#[tokio::test]
async fn connection_is_reused() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: keep-alive\r\n";
    for wire in WIRES {
        let body = recorded(wire);
        let answer = format!("{head}transfer-encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
        let server = Server::start(Act::Send(answer)).await;
        let model = server.model(wire, "m");
        for _ in 0..3 {
            ModelReply::collect(model.send(prompt("go"))).await.unwrap();
        }
        assert_eq!((server.requests().len(), server.connections()), (3, 1), "{wire:?}");
    }
}
