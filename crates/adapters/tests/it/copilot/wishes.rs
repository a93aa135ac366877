//! Session names, attachments, and unsupported options of clients.

use serde_json::{Value, json};
use testkit::session::scenario;

use super::client::CopilotTestClient;

const ECHO: &str = "
version: 1
rules:
  - when: { answered: { tool: shell } }
    answer: [{ say: It runs. }]
  - when: { prompt: 'in the background' }
    answer: [{ call: { tool: shell, input: { command: 'sleep 30', background: true } } }]
  - answer: [{ say: 'You said: ${prompt}' }]
";

fn client() -> CopilotTestClient {
    CopilotTestClient::start(scenario().script(ECHO))
}

#[tokio::test]
async fn a_session_goes_by_any_name_that_its_client_gives_it() {
    let mut client = client();
    let id = client.create_session(json!({ "sessionId": "my-custom-session-id" })).await;
    assert_eq!(client.next_event("session.start").await["data"]["sessionId"], id.as_str());
    let prompt = json!({ "sessionId": id, "prompt": "one" });
    let answer = client.call("session.sendAndWait", prompt).await.unwrap();
    assert_eq!(answer["response"]["data"]["content"], "You said: one");
    let listed = client.call("session.list", json!({})).await.unwrap();
    assert_eq!(listed["sessions"][0]["sessionId"], id.as_str());
    assert_eq!(client.call("session.getLastId", json!({})).await.unwrap()["sessionId"], id.as_str());
    let stage = client.fixture();
    client.close().await;

    let mut client = CopilotTestClient::on_fixture(stage);
    assert!(client.call("session.resume", json!({ "sessionId": "another" })).await.is_err());
    let resumed = client.call("session.resume", json!({ "sessionId": id })).await.unwrap();
    assert_eq!(resumed["sessionId"], id.as_str());
    let history = client.call("session.getMessages", json!({ "sessionId": id })).await.unwrap();
    assert_eq!(history["events"][0]["data"]["sessionId"], id.as_str());
    assert_eq!(client.call("session.delete", json!({ "sessionId": id })).await.unwrap()["success"], true);
    let refused = client.call("session.create", json!({ "sessionId": "a\nb" })).await.unwrap_err();
    assert!(refused["message"].as_str().unwrap().contains("not a session's name"), "{refused}");
    client.close().await;
}

#[tokio::test]
async fn unsupported_options_are_reported_with_the_first_message() {
    let mut client = client();
    let id = client.create_session(json!({ "mcpServers": { "db": { "command": 5 } } })).await;
    client.call("session.send", json!({ "sessionId": id, "prompt": "one" })).await.unwrap();
    let events = client.events_until("session.idle").await;
    let warnings: Vec<&Value> = events.iter().filter(|event| event["type"] == "session.warning").collect();
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0]["data"]["message"].as_str().unwrap().starts_with("the MCP server db cannot be used: "));
    client.close().await;
}

#[tokio::test]
async fn an_attachment_that_no_model_takes_is_refused_and_the_session_goes_on() {
    let mut client = client();
    let id = client.create_session(json!({})).await;
    let message_with = |attachment: Value| json!({ "sessionId": id, "prompt": "look", "attachments": [attachment] });
    let document = json!({ "type": "blob", "data": "JVBERv/+", "mimeType": "application/pdf" });
    let refused = client.call("session.sendAndWait", message_with(document)).await.unwrap_err();
    assert!(refused["message"].as_str().unwrap().contains("neither a PNG"), "{refused}");
    let text = json!({ "type": "blob", "data": "d29yZHM=", "mimeType": "text/plain", "displayName": "a.txt" });
    let answer = client.call("session.sendAndWait", message_with(text)).await.unwrap();
    assert_eq!(answer["response"]["data"]["content"], "You said: look\n\nAttached a.txt:\nwords");
    client.close().await;
}

#[tokio::test]
async fn an_abort_ends_commands_in_the_background_too() {
    let mut client = CopilotTestClient::start(scenario().script(ECHO).allow_all());
    let id = client.create_session(json!({})).await;
    client.call("session.send", json!({ "sessionId": id, "prompt": "in the background" })).await.unwrap();
    client.next_event("assistant.idle").await;
    client.call("session.abort", json!({ "sessionId": id })).await.unwrap();
    client.next_event("session.idle").await;
    let tasks = client.call("session.tasks.list", json!({ "sessionId": id })).await.unwrap();
    assert_eq!(tasks["tasks"][0]["status"], "cancelled");
    client.close().await;
}
