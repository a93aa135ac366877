//! Scripts that are slow, broken or silent on purpose.

use std::time::Duration;

use bosun_model::{Delta, Model, ReplyBuilder};
use futures_util::StreamExt;
use protocol::{ContentBlock, ModelFault, StopReason};
use tokio::time::{Instant, timeout};

use crate::conversation::{prompt, reply, script, sent};

#[tokio::test(start_paused = true)]
async fn wait_delays_the_rest_of_the_answer() {
    let script = script("  - answer: [ { say: a }, { wait: 90s }, { say: b } ]\n");
    let start = Instant::now();
    let mut deltas = script.send(prompt("go"));
    deltas.next().await;
    assert_eq!(start.elapsed(), Duration::ZERO);
    deltas.next().await;
    assert_eq!(start.elapsed(), Duration::from_secs(90));
}

#[tokio::test(start_paused = true)]
async fn drip_splits_text_between_characters() {
    let script =
        script("  - answer: [ { drip: { every: 5ms, size: 2 } }, { say: 'é漢🦀ab' }, { say: '' }, { think: c } ]\n");
    let start = Instant::now();
    let mut pieces = Vec::new();
    let mut deltas = script.send(prompt("go"));
    while let Some(delta) = deltas.next().await {
        match delta.unwrap() {
            Delta::Text(text) | Delta::Thinking(text) => pieces.push((text, start.elapsed().as_millis())),
            Delta::Call(_) | Delta::Opaque { .. } | Delta::Done { .. } => {}
        }
    }
    let expected = [("é漢", 5), ("🦀a", 10), ("b", 15), ("c", 20)];
    assert_eq!(pieces, expected.map(|(text, at)| (text.to_owned(), at)));
}

#[tokio::test(start_paused = true)]
async fn hang_sends_only_the_preceding_parts() {
    let script = script("  - answer: [ { say: a }, { hang: true } ]\n");
    let mut deltas = script.send(prompt("go"));
    assert_eq!(deltas.next().await, Some(Ok(Delta::Text("a".into()))));
    assert!(timeout(Duration::from_secs(24 * 60 * 60), deltas.next()).await.is_err());
}

#[tokio::test]
async fn cut_ends_the_stream_early() {
    let script = script("  - answer: [ { say: half }, { cut: true } ]\n");
    assert_eq!(sent(&script, prompt("go")).await, [Ok(Delta::Text("half".into()))]);
    let error = reply(&script, prompt("go")).await.unwrap_err();
    assert_eq!((error.fault, error.message.as_str()), (ModelFault::Transient, "the answer was cut"));
}

#[tokio::test]
async fn raw_call_is_passed_on_unchanged() {
    let script = script(
        "  - answer: [ { raw_call: { id: x, tool: t, input: '{\"a\": ${turn}' } }, { call: { id: x, tool: u } } ]\n",
    );
    let content = reply(&script, prompt("go")).await.unwrap().content;
    let [ContentBlock::Call(first), ContentBlock::Call(second)] = content.as_slice() else { panic!("{content:?}") };
    assert_eq!((first.tool.as_str(), first.input.as_str()), ("t", r#"{"a": 1"#));
    assert_eq!(first.id, second.id);
}

#[tokio::test]
async fn stop_sets_the_stop_reason() {
    for (word, stop) in [("length", StopReason::Length), ("refusal", StopReason::Refusal), ("end", StopReason::End)] {
        let script = script(&format!("  - answer: [ {{ call: {{ tool: t }} }}, {{ stop: {word} }} ]\n"));
        assert_eq!(reply(&script, prompt("go")).await.unwrap().stop, stop);
    }
}

#[tokio::test]
async fn draft_contains_the_parts_received_so_far() {
    let script = script("  - answer: [ { say: a }, { say: b }, { cut: true } ]\n");
    let mut draft = ReplyBuilder::default();
    let mut deltas = script.send(prompt("go"));
    while let Some(delta) = deltas.next().await {
        draft.push(delta.unwrap()).unwrap();
    }
    assert_eq!(draft.content(), [ContentBlock::Text { text: "ab".into() }]);
}
