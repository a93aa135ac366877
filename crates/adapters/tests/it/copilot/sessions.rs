//! Sessions: messages, history, resumption, listing and managed settings.

use bosun_adapters::AdapterExit;
use serde_json::json;
use testkit::session::scenario;

use super::client::{CopilotTestClient, kinds};

const ECHO: &str = "
version: 1
rules:
  - when: { prompt: 'hang' }
    answer: [{ say: I wait. }, { hang: true }]
  - when: { prompt: 'fail' }
    fail: { class: terminal, message: the model is out of order }
  - when: { prompt: 'start one', turn: 1 }
    answer:
      - call: { tool: task, input: { agent_type: reader, name: scout, description: looks, prompt: look } }
  - when: { agent: reader }
    answer: [{ say: I looked. }]
  - answer: [{ say: 'You said: ${prompt}' }]
";

fn client() -> CopilotTestClient {
    CopilotTestClient::start(scenario().script(ECHO))
}

#[tokio::test]
async fn events_of_a_message_have_the_expected_order() {
    let mut client = client();
    let connected = client.call("connect", json!({ "supportedTaskKinds": ["agent", "shell"] })).await.unwrap();
    assert_eq!((&connected["ok"], &connected["protocolVersion"]), (&json!(true), &json!(3)));
    assert_eq!(connected["taskKinds"], json!(["agent", "shell"]));
    let id = client.create_session(json!({ "streaming": true })).await;
    let sent = client.call("session.send", json!({ "sessionId": id, "prompt": "hello" })).await.unwrap();
    let events = client.events_until("session.idle").await;
    assert_eq!(
        kinds(&events),
        [
            "session.start",
            "user.message",
            "assistant.turn_start",
            "assistant.message_start",
            "assistant.message_delta",
            "assistant.usage",
            "session.usage_info",
            "assistant.message",
            "assistant.turn_end",
            "assistant.idle",
            "session.idle",
        ]
    );
    let message = |kind: &str| events.iter().find(|event| event["type"] == kind).unwrap()["data"].clone();
    assert_eq!(message("user.message")["messageId"], sent["messageId"]);
    assert_eq!(message("assistant.message")["content"], "You said: hello");
    assert_eq!(message("assistant.message")["messageId"], message("assistant.message_delta")["messageId"]);
    assert_eq!(message("session.idle"), json!({}));
    assert_eq!(client.close().await, AdapterExit::Success);
}

#[tokio::test]
async fn history_has_the_same_events_and_ids() {
    let mut client = client();
    let id = client.create_session(json!({})).await;
    client.call("session.send", json!({ "sessionId": id, "prompt": "one" })).await.unwrap();
    let live = client.events_until("session.idle").await;
    let live: Vec<_> = live.into_iter().filter(|event| event["ephemeral"] != true).collect();
    let history = client.call("session.getMessages", json!({ "sessionId": id })).await.unwrap();
    assert_eq!(history["events"].as_array().unwrap(), &live);
    for (event, before) in live.iter().skip(1).zip(&live) {
        assert_eq!(event["parentId"], before["id"]);
    }
    assert_eq!(client.call("session.detach", json!({ "sessionId": id })).await.unwrap()["success"], true);
    client.call("session.resume", json!({ "sessionId": id })).await.unwrap();
    assert_eq!(client.next_event("session.resume").await["parentId"], live.last().unwrap()["id"]);
    let later_history = client.call("session.getMessages", json!({ "sessionId": id })).await.unwrap();
    assert_eq!(later_history["events"].as_array().unwrap()[..live.len()], live);
    client.close().await;
}

#[tokio::test]
async fn send_and_wait_returns_answer_error_or_abort() {
    let mut client = client();
    let id = client.create_session(json!({ "streaming": true })).await;
    let prompt_params = |prompt: &str| json!({ "sessionId": id, "prompt": prompt });
    let answered = client.call("session.sendAndWait", prompt_params("hello")).await.unwrap();
    assert_eq!(answered["response"]["data"]["content"], "You said: hello");
    assert_eq!(answered["aborted"], false);
    client.events_until("session.idle").await;
    let failed = client.call("session.sendAndWait", prompt_params("fail")).await.unwrap_err();
    assert!(failed["message"].as_str().unwrap().contains("out of order"), "{failed}");
    client.events_until("session.idle").await;
    let call = client.send_call("session.sendAndWait", prompt_params("hang")).await;
    client.next_event("assistant.message_delta").await;
    client.call("session.abort", json!({ "sessionId": id })).await.unwrap();
    let idle = client.events_until("session.idle").await;
    assert_eq!(idle.last().unwrap()["data"], json!({ "aborted": true }));
    assert!(kinds(&idle).contains(&"abort"));
    let response = client.read().await.unwrap();
    assert_eq!((&response["id"], &response["result"]["aborted"]), (&json!(call), &json!(true)));
    client.close().await;
}

#[tokio::test]
async fn events_of_an_agent_have_its_id_and_call() {
    let mut client = CopilotTestClient::start(scenario().script(ECHO).allow_all());
    let id = client.create_session(json!({})).await;
    client.call("session.send", json!({ "sessionId": id, "prompt": "start one" })).await.unwrap();
    let events = client.events_until("session.idle").await;
    let started = events.iter().find(|event| event["type"] == "subagent.started").unwrap();
    assert_eq!(
        (&started["data"]["agentName"], &started["data"]["agentDisplayName"]),
        (&json!("reader"), &json!("scout"))
    );
    let agent = started["agentId"].as_str().unwrap();
    let message =
        events.iter().find(|event| event["agentId"] == agent && event["type"] == "assistant.message").unwrap();
    assert_eq!(message["data"]["parentToolCallId"], started["data"]["toolCallId"]);
    let agent_events: Vec<_> = events.iter().filter(|event| event["agentId"] == agent).cloned().collect();
    assert_eq!(kinds(&agent_events).last(), Some(&"subagent.completed"));
    client.close().await;
}

#[tokio::test]
async fn session_can_be_resumed_after_its_client_left() {
    let mut client = client();
    let stage = client.fixture();
    let id = client.create_session(json!({ "streaming": true })).await;
    client.call("session.send", json!({ "sessionId": id, "prompt": "hang" })).await.unwrap();
    client.next_event("assistant.message_delta").await;
    assert_eq!(client.close().await, AdapterExit::Success);
    let mut client = CopilotTestClient::on_fixture(stage);
    let resumed = client.call("session.resume", json!({ "sessionId": id })).await.unwrap();
    assert_eq!(resumed["sessionId"], id.as_str());
    let history = client.call("session.getMessages", json!({ "sessionId": id })).await.unwrap();
    assert!(kinds(history["events"].as_array().unwrap()).starts_with(&["session.start", "user.message"]));
    client.close().await;
}

#[tokio::test]
async fn a_message_is_answered_though_the_turn_before_was_never_finished() {
    let mut client = client();
    let stage = client.fixture();
    let id = client.create_session(json!({ "streaming": true })).await;
    client.call("session.send", json!({ "sessionId": id, "prompt": "hang" })).await.unwrap();
    client.next_event("assistant.message_delta").await;
    client.close().await;
    let mut client = CopilotTestClient::on_fixture(stage);
    client.call("session.resume", json!({ "sessionId": id })).await.unwrap();
    let prompt = json!({ "sessionId": id, "prompt": "are you there?" });
    let answer = client.call("session.sendAndWait", prompt).await.unwrap();
    assert_eq!(answer["response"]["data"]["content"], "You said: are you there?");
    assert_eq!(answer["aborted"], false);
    client.close().await;
}

#[tokio::test]
async fn sessions_are_listed_forked_and_deleted() {
    let mut client = client();
    let id = client.create_session(json!({})).await;
    client.call("session.sendAndWait", json!({ "sessionId": id, "prompt": "one" })).await.unwrap();
    let copy = client.call("sessions.fork", json!({ "sessionId": id })).await.unwrap();
    assert_ne!(copy["sessionId"], id.as_str());
    let listed = client.call("session.list", json!({})).await.unwrap();
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 2);
    let deleted = client.call("session.delete", json!({ "sessionId": id })).await.unwrap();
    assert_eq!(deleted["success"], true);
    assert_eq!(client.call("session.getMetadata", json!({ "sessionId": id })).await.unwrap(), json!({}));
    assert!(client.call("session.resume", json!({ "sessionId": id })).await.is_err());
    client.close().await;
}

/// Managed settings of the client are followed in full, or the session is refused.
#[tokio::test]
async fn managed_settings_are_followed_or_refused() {
    let mut client = client();
    let refused = [
        json!({ "enableManagedSettings": true }),
        json!({ "managedSettings": { "somethingNew": true } }),
        json!({ "managedSettings": "strict" }),
        json!({ "managedSettings": { "permissions": { "deny": [" "] } } }),
    ];
    for params in refused {
        assert!(client.call("session.create", params.clone()).await.is_err(), "{params}");
    }
    let rules = json!({ "deny": ["shell(touch:*)", "Bash(rm *)", "url(example.com)", "write"], "ask": ["read"] });
    let id = client.create_session(json!({ "managedSettings": { "permissions": rules } })).await;
    let options = client.opener.options.lock().unwrap().clone();
    assert!(options.deny.contains(&"shell(rm *)".to_owned()) && options.ask == ["read"], "{options:?}");
    assert_eq!(options.deny.len(), 4, "{options:?}");
    let approved =
        client.call("session.permissions.setApproveAll", json!({ "sessionId": id, "enabled": true })).await.unwrap();
    assert_eq!(approved["success"], false, "a policy with ask rules forbids approving everything");
    client.close().await;
}

/// Clients with a base directory see neither the sessions of another one nor those without one.
#[tokio::test]
async fn sessions_of_other_base_directories_are_not_visible() {
    let stage = scenario().script(ECHO).ready();
    let ids = ["0190aaaa-0000-7000-8000-00000000000a", "0190aaaa-0000-7000-8000-00000000000b"];
    for (base, id) in [(Some("/a"), ids[0]), (None, ids[1])] {
        let mut client = CopilotTestClient::with_base_dir(stage.clone(), base);
        client.create_session(json!({ "sessionId": id })).await;
        client.close().await;
    }
    for (base, visible) in [(Some("/a"), vec![ids[0]]), (Some("/b"), vec![]), (None, ids.to_vec())] {
        let mut client = CopilotTestClient::with_base_dir(stage.clone(), base);
        let listed = client.call("session.list", json!({})).await.unwrap();
        let mut listed: Vec<&str> =
            listed["sessions"].as_array().unwrap().iter().filter_map(|row| row["sessionId"].as_str()).collect();
        listed.sort_unstable();
        assert_eq!(listed, visible, "{base:?}");
        for id in ids {
            let is_visible = visible.contains(&id);
            for method in ["session.resume", "session.getMessages"] {
                let found = client.call(method, json!({ "sessionId": id })).await.is_ok();
                assert_eq!(found, is_visible, "{base:?} {method} {id}");
            }
            if !is_visible {
                assert!(client.call("sessions.fork", json!({ "sessionId": id })).await.is_err(), "{base:?} {id}");
                let deleted = client.call("session.delete", json!({ "sessionId": id })).await.unwrap();
                assert_eq!(deleted["success"], false, "{base:?} {id}");
            }
        }
        client.close().await;
    }
}
