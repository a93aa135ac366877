//! Tests with damaged answers: any input results in an answer or an error.

use net::sse::{ServerSentEvent, SseDecoder};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::delta_queue::StreamError;
use super::events::AnswerStream;
use crate::{Delta, ModelReply, WireFormat};

const WIRES: [WireFormat; 3] = [WireFormat::Anthropic, WireFormat::Responses, WireFormat::Chat];

fn recorded(wire: WireFormat) -> &'static str {
    match wire {
        WireFormat::Anthropic => include_str!("../../tests/it/recorded/anthropic.sse"),
        WireFormat::Responses => include_str!("../../tests/it/recorded/responses.sse"),
        WireFormat::Chat => include_str!("../../tests/it/recorded/chat.sse"),
    }
}

/// The deltas of `events`, and how the answer ended.
fn read(wire: WireFormat, events: &[ServerSentEvent]) -> (Vec<Delta>, Result<(), StreamError>) {
    let mut stream = AnswerStream::new(wire, "m");
    let process = |stream: &mut AnswerStream| {
        for event in events {
            stream.event(event)?;
            if stream.queue().is_done() {
                return Ok(());
            }
        }
        stream.end()
    };
    let ended = process(&mut stream);
    (std::iter::from_fn(|| stream.queue().take()).collect(), ended)
}

fn decode(bytes: &[u8]) -> Vec<ServerSentEvent> {
    let mut decoder = SseDecoder::default();
    let mut events = decoder.push(bytes).unwrap();
    events.extend(decoder.finish().unwrap());
    events
}

/// An answer ends with exactly one `Done`, an error has none.
fn check(wire: WireFormat, events: &[ServerSentEvent]) {
    let (deltas, ended) = read(wire, events);
    let dones = deltas.iter().filter(|delta| matches!(delta, Delta::Done { .. })).count();
    assert_eq!(dones, usize::from(ended.is_ok()), "{events:?}");
    assert_eq!(matches!(deltas.last(), Some(Delta::Done { .. })), ended.is_ok(), "{events:?}");
}

fn word() -> impl Strategy<Value = String> {
    select(vec![
        "type",
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
        "error",
        "message",
        "content_block",
        "delta",
        "index",
        "text",
        "thinking",
        "signature",
        "tool_use",
        "partial_json",
        "input",
        "id",
        "name",
        "stop_reason",
        "max_tokens",
        "usage",
        "input_tokens",
        "output_tokens",
        "response.created",
        "response.output_item.added",
        "response.output_item.done",
        "response.output_text.delta",
        "response.completed",
        "response.incomplete",
        "response.failed",
        "response",
        "item",
        "reasoning",
        "function_call",
        "call_id",
        "arguments",
        "status",
        "incomplete",
        "phase",
        "choices",
        "content",
        "tool_calls",
        "function",
        "finish_reason",
        "length",
        "stop",
        "extra_content",
        "reasoning_content",
        "refusal",
        "prompt_tokens",
        "[DONE]",
        "",
    ])
    .prop_map(str::to_owned)
}

fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        word().prop_map(Into::into),
        any::<u64>().prop_map(Into::into),
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Into::into),
            vec((word(), inner), 0..5).prop_map(|pairs| serde_json::Value::Object(pairs.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn recordings_with_changed_bytes(
        wire in select(&WIRES[..]),
        changes in vec((any::<Index>(), any::<u8>()), 1..6),
    ) {
        let mut bytes = recorded(wire).as_bytes().to_vec();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        check(wire, &decode(&bytes));
    }

    #[test]
    fn recordings_shuffled_and_in_another_wire_format(
        wire in select(&WIRES[..]),
        from in select(&WIRES[..]),
        picks in vec(any::<Index>(), 0..40),
    ) {
        let events = decode(recorded(from).as_bytes());
        let picked: Vec<ServerSentEvent> = picks.iter().map(|pick| events[pick.index(events.len())].clone()).collect();
        check(wire, &picked);
    }

    #[test]
    fn arbitrary_json(wire in select(&WIRES[..]), values in vec((word(), json()), 0..12)) {
        let events: Vec<ServerSentEvent> =
            values.into_iter().map(|(name, value)| ServerSentEvent { name, data: value.to_string() }).collect();
        check(wire, &events);
    }
}

#[test]
fn buffered_data_is_bounded() {
    let much = "x".repeat(1 << 20);
    let start = r#"{"type":"content_block_start","content_block":{"type":"tool_use","id":"1","name":"t"}}"#.to_owned();
    let more = format!(r#"{{"type":"content_block_delta","delta":{{"partial_json":"{much}"}}}}"#);
    let chunk =
        format!(r#"{{"choices":[{{"delta":{{"tool_calls":[{{"index":0,"function":{{"arguments":"{much}"}}}}]}}}}]}}"#);
    for (wire, start, more) in [(WireFormat::Anthropic, start, more), (WireFormat::Chat, chunk.clone(), chunk)] {
        let event = |data: &String| ServerSentEvent { name: String::new(), data: data.clone() };
        let flood = std::iter::repeat_n(event(&more), ModelReply::MAX_BYTES / much.len() + 1);
        let events: Vec<ServerSentEvent> = std::iter::once(event(&start)).chain(flood).collect();
        assert!(matches!(read(wire, &events).1, Err(StreamError::TooLarge)), "{wire:?}");
    }
}

#[test]
fn a_flood_of_calls_is_refused() {
    let call = |index| format!(r#"{{"choices":[{{"delta":{{"tool_calls":[{{"index":{index}}}]}}}}]}}"#);
    let events: Vec<ServerSentEvent> =
        (0..20_000).map(|index| ServerSentEvent { name: String::new(), data: call(index) }).collect();
    assert!(matches!(read(WireFormat::Chat, &events).1, Err(StreamError::TooLarge)));
}
