//! Frames that no well-behaved client sends.

use serde_json::json;
use testkit::session::scenario;

use super::visit::{Inn, Visit};

const SCRIPT: &str = "
version: 1
rules:
  - answer: [ { say: Fine. } ]
";

#[tokio::test]
async fn odd_frames_are_passed_over_or_answered_and_nothing_breaks() {
    let inn = Inn::new(scenario().script(SCRIPT));
    let mut visit = Visit::new(&inn, &[]);
    for odd in [
        json!(null),
        json!([1, 2]),
        json!("user"),
        json!({}),
        json!({ "type": 7 }),
        json!({ "type": "control_request" }),
        json!({ "type": "control_response", "response": { "request_id": "nobody" } }),
        json!({ "type": "control_response" }),
        json!({ "type": "control_cancel_request", "request_id": "x" }),
        json!({ "type": "keep_alive" }),
        json!({ "type": "hologram" }),
    ] {
        visit.say(odd).await;
    }
    let early = visit.request(json!({ "subtype": "interrupt" })).await;
    assert_eq!(early["subtype"], "error");
    let odd_hello = json!({ "subtype": "initialize", "hooks": 7, "agents": {}, "systemPrompt": { "a": 1 } });
    assert_eq!(visit.request(odd_hello).await["subtype"], "success");
    visit.say(json!({ "type": "user", "message": { "content": [] } })).await;
    assert_eq!(visit.until_type("result").await["num_turns"], 0);
    visit.prompt("hello").await;
    assert_eq!(visit.until_type("result").await["result"], "Fine.");
    visit.close().await;
}

#[tokio::test]
async fn what_is_no_json_ends_the_talk_with_an_error() {
    let inn = Inn::new(scenario().script(SCRIPT));
    let mut visit = Visit::greeted(&inn, &[], json!({})).await;
    visit.raw(b"hello?\n").await;
    let result = visit.until_type("result").await;
    assert_eq!(result["subtype"], "error_during_execution");
    assert_eq!(visit.close().await.1, bosun_adapters::AdapterExit::Failed);
}

/// Half of a surrogate pair, as a program writes that cuts a text in the middle of a character.
#[tokio::test]
async fn half_a_character_does_not_end_the_session() {
    let inn = Inn::new(scenario().script("version: 1\nrules: [ { answer: [ { say: 'You said: ${prompt}' } ] } ]"));
    let mut visit = Visit::greeted(&inn, &[], json!({})).await;
    let line = r#"{"type":"user","message":{"role":"user","content":"half \ud83d of it"}}"#;
    visit.raw(format!("{line}\n").as_bytes()).await;
    assert_eq!(visit.until_type("result").await["result"], "You said: half \u{FFFD} of it");
    visit.prompt("and on").await;
    assert_eq!(visit.until_type("result").await["result"], "You said: and on");
    visit.close().await;
}
