//! Frames that no well-behaved client sends.

use serde_json::json;
use testkit::session::scenario;

use super::visit::{ClaudeTestClient, ClaudeTestHost};

const SCRIPT: &str = "
version: 1
rules:
  - answer: [ { say: Fine. } ]
";

#[tokio::test]
async fn invalid_frames_are_ignored_or_answered() {
    let test_host = ClaudeTestHost::new(scenario().script(SCRIPT));
    let mut client = ClaudeTestClient::new(&test_host, &[]);
    for invalid in [
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
        client.send(invalid).await;
    }
    let early = client.request(json!({ "subtype": "interrupt" })).await;
    assert_eq!(early["subtype"], "error");
    let invalid_initialize = json!({ "subtype": "initialize", "hooks": 7, "agents": {}, "systemPrompt": { "a": 1 } });
    assert_eq!(client.request(invalid_initialize).await["subtype"], "success");
    client.send(json!({ "type": "user", "message": { "content": [] } })).await;
    assert_eq!(client.next_of_type("result").await["num_turns"], 0);
    client.prompt("hello").await;
    assert_eq!(client.next_of_type("result").await["result"], "Fine.");
    client.close().await;
}

#[tokio::test]
async fn invalid_json_ends_the_conversation_with_an_error() {
    let test_host = ClaudeTestHost::new(scenario().script(SCRIPT));
    let mut client = ClaudeTestClient::initialized(&test_host, &[], json!({})).await;
    client.send_bytes(b"hello?\n").await;
    let result = client.next_of_type("result").await;
    assert_eq!(result["subtype"], "error_during_execution");
    assert_eq!(client.close().await.1, bosun_adapters::AdapterExit::Failed);
}

/// A lone surrogate, as written by a program that cuts text in the middle of a character.
#[tokio::test]
async fn lone_surrogate_does_not_end_the_session() {
    let test_host =
        ClaudeTestHost::new(scenario().script("version: 1\nrules: [ { answer: [ { say: 'You said: ${prompt}' } ] } ]"));
    let mut client = ClaudeTestClient::initialized(&test_host, &[], json!({})).await;
    let line = r#"{"type":"user","message":{"role":"user","content":"half \ud83d of it"}}"#;
    client.send_bytes(format!("{line}\n").as_bytes()).await;
    assert_eq!(client.next_of_type("result").await["result"], "You said: half \u{FFFD} of it");
    client.prompt("and on").await;
    assert_eq!(client.next_of_type("result").await["result"], "You said: and on");
    client.close().await;
}
