//! Sessions from their beginning to their end.

use bosun_adapters::AdapterExit;
use serde_json::json;
use testkit::session::scenario;

use super::client::{Client, kinds};

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

fn client() -> Client {
    Client::of(scenario().script(ECHO))
}

#[tokio::test]
async fn a_message_is_answered_in_the_order_that_clients_know() {
    let mut client = client();
    let connected = client.call("connect", json!({ "supportedTaskKinds": ["agent", "shell"] })).await.unwrap();
    assert_eq!((&connected["ok"], &connected["protocolVersion"]), (&json!(true), &json!(3)));
    assert_eq!(connected["taskKinds"], json!(["agent", "shell"]));
    let id = client.session(json!({ "streaming": true })).await;
    let sent = client.call("session.send", json!({ "sessionId": id, "prompt": "hello" })).await.unwrap();
    let events = client.events_to("session.idle").await;
    assert_eq!(
        kinds(&events),
        [
            "session.start",
            "user.message",
            "assistant.turn_start",
            "assistant.message_start",
            "assistant.message_delta",
            "assistant.usage",
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
    assert_eq!(client.leave().await, AdapterExit::Success);
}

#[tokio::test]
async fn what_is_kept_is_told_again_with_the_same_ids() {
    let mut client = client();
    let id = client.session(json!({})).await;
    client.call("session.send", json!({ "sessionId": id, "prompt": "one" })).await.unwrap();
    let live = client.events_to("session.idle").await;
    let live: Vec<_> = live.into_iter().filter(|event| event["ephemeral"] != true).collect();
    let kept = client.call("session.getMessages", json!({ "sessionId": id })).await.unwrap();
    assert_eq!(kept["events"].as_array().unwrap(), &live);
    for (event, before) in live.iter().skip(1).zip(&live) {
        assert_eq!(event["parentId"], before["id"]);
    }
    assert_eq!(client.call("session.detach", json!({ "sessionId": id })).await.unwrap()["success"], true);
    client.call("session.resume", json!({ "sessionId": id })).await.unwrap();
    assert_eq!(client.event("session.resume").await["parentId"], live.last().unwrap()["id"]);
    let again = client.call("session.getMessages", json!({ "sessionId": id })).await.unwrap();
    assert_eq!(again["events"].as_array().unwrap()[..live.len()], live);
    client.leave().await;
}

#[tokio::test]
async fn send_and_wait_gives_the_answer_the_error_and_the_abort() {
    let mut client = client();
    let id = client.session(json!({ "streaming": true })).await;
    let ask = |prompt: &str| json!({ "sessionId": id, "prompt": prompt });
    let answered = client.call("session.sendAndWait", ask("hello")).await.unwrap();
    assert_eq!(answered["response"]["data"]["content"], "You said: hello");
    assert_eq!(answered["aborted"], false);
    client.events_to("session.idle").await;
    let failed = client.call("session.sendAndWait", ask("fail")).await.unwrap_err();
    assert!(failed["message"].as_str().unwrap().contains("out of order"), "{failed}");
    client.events_to("session.idle").await;
    let waiting = client.begin("session.sendAndWait", ask("hang")).await;
    client.event("assistant.message_delta").await;
    client.call("session.abort", json!({ "sessionId": id })).await.unwrap();
    let idle = client.events_to("session.idle").await;
    assert_eq!(idle.last().unwrap()["data"], json!({ "aborted": true }));
    assert!(kinds(&idle).contains(&"abort"));
    let ended = client.read().await.unwrap();
    assert_eq!((&ended["id"], &ended["result"]["aborted"]), (&json!(waiting), &json!(true)));
    client.leave().await;
}

#[tokio::test]
async fn an_agent_s_events_carry_its_id_and_its_call() {
    let mut client = Client::of(scenario().script(ECHO).allow_all());
    let id = client.session(json!({})).await;
    client.call("session.send", json!({ "sessionId": id, "prompt": "start one" })).await.unwrap();
    let events = client.events_to("session.idle").await;
    let started = events.iter().find(|event| event["type"] == "subagent.started").unwrap();
    assert_eq!(
        (&started["data"]["agentName"], &started["data"]["agentDisplayName"]),
        (&json!("reader"), &json!("scout"))
    );
    let agent = started["agentId"].as_str().unwrap();
    let said = events.iter().find(|event| event["agentId"] == agent && event["type"] == "assistant.message").unwrap();
    assert_eq!(said["data"]["parentToolCallId"], started["data"]["toolCallId"]);
    let of_agent: Vec<_> = events.iter().filter(|event| event["agentId"] == agent).cloned().collect();
    assert_eq!(kinds(&of_agent).last(), Some(&"subagent.completed"));
    client.leave().await;
}

#[tokio::test]
async fn who_hangs_up_leaves_a_session_that_can_be_resumed() {
    let mut client = client();
    let stage = client.stage();
    let id = client.session(json!({ "streaming": true })).await;
    client.call("session.send", json!({ "sessionId": id, "prompt": "hang" })).await.unwrap();
    client.event("assistant.message_delta").await;
    assert_eq!(client.leave().await, AdapterExit::Success);
    let mut client = Client::at(stage);
    let resumed = client.call("session.resume", json!({ "sessionId": id })).await.unwrap();
    assert_eq!(resumed["sessionId"], id.as_str());
    let kept = client.call("session.getMessages", json!({ "sessionId": id })).await.unwrap();
    assert!(kinds(kept["events"].as_array().unwrap()).starts_with(&["session.start", "user.message"]));
    client.leave().await;
}

#[tokio::test]
async fn a_message_is_answered_though_the_turn_before_was_never_finished() {
    let mut client = client();
    let stage = client.stage();
    let id = client.session(json!({ "streaming": true })).await;
    client.call("session.send", json!({ "sessionId": id, "prompt": "hang" })).await.unwrap();
    client.event("assistant.message_delta").await;
    client.leave().await;
    let mut client = Client::at(stage);
    client.call("session.resume", json!({ "sessionId": id })).await.unwrap();
    let asked = json!({ "sessionId": id, "prompt": "are you there?" });
    let answer = client.call("session.sendAndWait", asked).await.unwrap();
    assert_eq!(answer["response"]["data"]["content"], "You said: are you there?");
    assert_eq!(answer["aborted"], false);
    client.leave().await;
}

#[tokio::test]
async fn sessions_are_listed_copied_and_deleted() {
    let mut client = client();
    let id = client.session(json!({})).await;
    client.call("session.sendAndWait", json!({ "sessionId": id, "prompt": "one" })).await.unwrap();
    let copy = client.call("sessions.fork", json!({ "sessionId": id })).await.unwrap();
    assert_ne!(copy["sessionId"], id.as_str());
    let listed = client.call("session.list", json!({})).await.unwrap();
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 2);
    let deleted = client.call("session.delete", json!({ "sessionId": id })).await.unwrap();
    assert_eq!(deleted["success"], true);
    assert_eq!(client.call("session.getMetadata", json!({ "sessionId": id })).await.unwrap(), json!({}));
    assert!(client.call("session.resume", json!({ "sessionId": id })).await.is_err());
    client.leave().await;
}

/// A policy of whoever manages the client is kept to, or the session is refused.
#[tokio::test]
async fn managed_settings_are_kept_to_or_refused() {
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
    let id = client.session(json!({ "managedSettings": { "permissions": rules } })).await;
    let flags = client.session_host.flags.lock().unwrap().clone();
    for flag in ["--deny=shell(rm *)", "--ask=read"] {
        assert!(flags.contains(&flag.to_owned()), "{flags:?}");
    }
    assert_eq!(flags.iter().filter(|flag| flag.starts_with("--deny=")).count(), 4, "{flags:?}");
    let approved =
        client.call("session.permissions.setApproveAll", json!({ "sessionId": id, "enabled": true })).await.unwrap();
    assert_eq!(approved["success"], false, "a policy that asks is not answered by everything being approved");
    client.leave().await;
}

/// Clients of one base directory do not see the sessions of another, nor those of none.
#[tokio::test]
async fn sessions_of_another_base_directory_are_not_there() {
    let stage = scenario().script(ECHO).ready();
    let ids = ["0190aaaa-0000-7000-8000-00000000000a", "0190aaaa-0000-7000-8000-00000000000b"];
    for (base, id) in [(Some("/a"), ids[0]), (None, ids[1])] {
        let mut client = Client::under(stage.clone(), base);
        client.session(json!({ "sessionId": id })).await;
        client.leave().await;
    }
    for (base, seen) in [(Some("/a"), vec![ids[0]]), (Some("/b"), vec![]), (None, ids.to_vec())] {
        let mut client = Client::under(stage.clone(), base);
        let listed = client.call("session.list", json!({})).await.unwrap();
        let mut listed: Vec<&str> =
            listed["sessions"].as_array().unwrap().iter().filter_map(|row| row["sessionId"].as_str()).collect();
        listed.sort_unstable();
        assert_eq!(listed, seen, "{base:?}");
        for id in ids {
            let is_there = seen.contains(&id);
            for method in ["session.getMessages", "session.resume"] {
                let found = client.call(method, json!({ "sessionId": id })).await.is_ok();
                assert_eq!(found, is_there, "{base:?} {method} {id}");
            }
            if !is_there {
                for method in ["session.delete", "sessions.fork"] {
                    assert!(client.call(method, json!({ "sessionId": id })).await.is_err(), "{base:?} {method} {id}");
                }
            }
        }
        client.leave().await;
    }
}
