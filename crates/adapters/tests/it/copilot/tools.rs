//! Work that a client does for its session: tools, hooks, permissions and answers.

use protocol::SessionOptions;
use serde_json::{Value, json};
use testkit::session::{Scenario, scenario};

use super::client::{CopilotTestClient, kinds};

const SCRIPT: &str = "
version: 1
rules:
  - when: { answered: { status: done, matches: '(?s)(.*)' } }
    answer: [{ say: 'It says: ${1}' }]
  - when: { answered: { matches: '(?s)(.*)' } }
    answer: [{ say: 'No: ${1}' }]
  - when: { prompt: 'look up (.*)' }
    answer: [{ call: { tool: lookup, input: { id: '${1}' } } }]
  - when: { prompt: 'write (.*)' }
    answer: [{ call: { tool: create, input: { path: '${1}', content: x } } }]
  - when: { prompt: 'ask me' }
    answer: [{ call: { tool: ask_user, input: { question: 'Which colour?', choices: [red, green] } } }]
  - answer: [{ say: nothing }]
";

fn test_scenario() -> Scenario {
    scenario().script(SCRIPT).ask_wait(None)
}

fn lookup_tool() -> Value {
    json!([{ "name": "lookup", "description": "Finds an issue", "parameters": { "type": "object" } }])
}

#[tokio::test]
async fn client_tool_needs_permission_and_is_answered() {
    let mut client = CopilotTestClient::start(test_scenario());
    let id = client.create_session(json!({ "tools": lookup_tool() })).await;
    client.call("session.send", json!({ "sessionId": id, "prompt": "look up 7" })).await.unwrap();
    let permission = client.next_event("permission.requested").await["data"].clone();
    assert_eq!(
        (&permission["permissionRequest"]["kind"], &permission["permissionRequest"]["toolName"]),
        (&json!("custom-tool"), &json!("lookup"))
    );
    let allowed =
        json!({ "sessionId": id, "requestId": permission["requestId"], "result": { "kind": "approve-once" } });
    let decided = client.call("session.permissions.handlePendingPermissionRequest", allowed.clone()).await.unwrap();
    assert_eq!(decided["success"], true);
    let repeated = client.call("session.permissions.handlePendingPermissionRequest", allowed).await.unwrap();
    assert_eq!(repeated["success"], false);
    let events = client.events_until("external_tool.requested").await;
    assert!(kinds(&events).contains(&"tool.execution_start"), "{:?}", kinds(&events));
    let requested = events.last().unwrap()["data"].clone();
    assert_eq!((&requested["toolName"], &requested["arguments"]), (&json!("lookup"), &json!({ "id": "7" })));
    let answer = json!({ "sessionId": id, "requestId": requested["requestId"], "result": "issue 7 is open" });
    let accepted = client.call("session.tools.handlePendingToolCall", answer.clone()).await.unwrap();
    assert_eq!(accepted["success"], true);
    let repeated = client.call("session.tools.handlePendingToolCall", answer).await.unwrap();
    assert_eq!(repeated["success"], false);
    let said = client.events_until("session.idle").await;
    let said = said.iter().rfind(|event| event["type"] == "assistant.message").unwrap();
    assert_eq!(said["data"]["content"], "It says: issue 7 is open");
    client.close().await;
}

#[tokio::test]
async fn skip_permission_applies_only_to_client_tools() {
    let mut client = CopilotTestClient::start(test_scenario());
    let tools = json!([{ "name": "lookup", "skipPermission": true }, { "name": "edit", "skipPermission": true }]);
    let id = client.create_session(json!({ "tools": tools })).await;
    let expected = SessionOptions { ask_user: Some(false), ..SessionOptions::default() };
    assert_eq!(*client.opener.options.lock().unwrap(), expected);
    client.call("session.send", json!({ "sessionId": id, "prompt": "look up 7" })).await.unwrap();
    let events = client.events_until("external_tool.requested").await;
    assert!(!kinds(&events).contains(&"permission.requested"), "{:?}", kinds(&events));
    let request = &events.last().unwrap()["data"]["requestId"];
    let answer = json!({ "sessionId": id, "requestId": request, "result": "open" });
    client.call("session.tools.handlePendingToolCall", answer).await.unwrap();
    client.events_until("session.idle").await;
    client.call("session.send", json!({ "sessionId": id, "prompt": "write a.txt" })).await.unwrap();
    client.next_event("permission.requested").await;
    client.close().await;
}

#[tokio::test]
async fn read_only_approval_grants_no_writes() {
    let mut client = CopilotTestClient::start(test_scenario());
    let id = client.create_session(json!({})).await;
    for name in ["a.txt", "b.txt"] {
        client.call("session.send", json!({ "sessionId": id, "prompt": format!("write {name}") })).await.unwrap();
        // The second call needs permission as well.
        let request = client.next_event("permission.requested").await["data"]["requestId"].clone();
        let result = json!({ "kind": "approve-read-only-for-session", "directories": [] });
        let params = json!({ "sessionId": id, "requestId": request, "result": result });
        client.call("session.permissions.handlePendingPermissionRequest", params).await.unwrap();
        client.events_until("session.idle").await;
    }
    client.close().await;
}

#[tokio::test]
async fn a_port_is_not_opened_without_a_token() {
    let client = CopilotTestClient::start(test_scenario());
    let opener = std::sync::Arc::clone(&client.opener) as std::sync::Arc<dyn server::SessionOpener>;
    let args = ["--headless", "--port", "0"].map(str::to_owned).to_vec();
    assert_eq!(bosun_adapters::copilot::serve(opener, args, None).await, bosun_adapters::AdapterExit::UsageError);
    client.close().await;
}

#[tokio::test]
async fn pending_requests_are_sent_again_after_resume() {
    let mut client = CopilotTestClient::start(test_scenario());
    let stage = client.fixture();
    let id = client.create_session(json!({})).await;
    client.call("session.send", json!({ "sessionId": id, "prompt": "write a.txt" })).await.unwrap();
    let first = client.next_event("permission.requested").await["data"]["requestId"].clone();
    client.call("session.resume", json!({ "sessionId": id })).await.unwrap();
    let again = client.next_event("permission.requested").await;
    assert_eq!(again["data"]["requestId"], first);
    let denied = json!({ "kind": "reject", "feedback": "not this file" });
    let params = json!({ "sessionId": id, "requestId": first, "result": denied });
    client.call("session.permissions.handlePendingPermissionRequest", params).await.unwrap();
    let completed = client.next_event("permission.completed").await["data"]["result"].clone();
    assert_eq!(completed, json!({ "kind": "denied-interactively-by-user", "feedback": "not this file" }));
    let events = client.events_until("session.idle").await;
    let message = events.iter().rfind(|event| event["type"] == "assistant.message").unwrap();
    assert!(message["data"]["content"].as_str().unwrap().contains("not this file"));
    assert_eq!(stage.file("a.txt"), None);
    client.close().await;
}

#[tokio::test]
async fn questions_of_the_model_are_sent_to_the_client() {
    let mut client = CopilotTestClient::start(test_scenario());
    let id = client.create_session(json!({ "requestUserInput": true })).await;
    client.call("session.send", json!({ "sessionId": id, "prompt": "ask me" })).await.unwrap();
    let request = client.next_request("userInput.request").await;
    assert_eq!(
        (&request["params"]["question"], &request["params"]["choices"]),
        (&json!("Which colour?"), &json!(["red", "green"]))
    );
    client.answer(&request, json!({ "answer": "green", "wasFreeform": false })).await;
    let events = client.events_until("session.idle").await;
    let message = events.iter().rfind(|event| event["type"] == "assistant.message").unwrap();
    assert!(message["data"]["content"].as_str().unwrap().contains("green"), "{message}");
    client.close().await;
}

#[tokio::test]
async fn client_hook_blocks_a_call() {
    let mut client = CopilotTestClient::start(test_scenario().allow_all());
    let params = json!({ "sessionId": "0190aaaa-0000-7000-8000-000000000002", "hooks": true });
    client.send_call("session.create", params).await;
    let mut types = Vec::new();
    client
        .send_call("session.send", json!({ "sessionId": "0190aaaa-0000-7000-8000-000000000002", "prompt": "x" }))
        .await;
    // The session is created while its first hook waits, or afterwards; both are valid.
    let id = "0190aaaa-0000-7000-8000-000000000002";
    let mut sent = false;
    loop {
        let message = client.read().await.unwrap();
        if message["method"] == "hooks.invoke" {
            let kind = message["params"]["hookType"].as_str().unwrap().to_owned();
            assert_eq!(message["params"]["input"]["sessionId"], id);
            let output = match kind.as_str() {
                "preToolUse" => {
                    assert_eq!(message["params"]["input"]["toolName"], "create");
                    json!({ "output": { "permissionDecision": "deny", "permissionDecisionReason": "not on Sundays" } })
                }
                _other => json!({}),
            };
            types.push(kind);
            client.answer(&message, output).await;
        } else if message["id"] == 0 && !sent {
            sent = true;
            client.send_call("session.send", json!({ "sessionId": id, "prompt": "write a.txt" })).await;
        } else if message["params"]["event"]["type"] == "session.idle" {
            break;
        }
    }
    for kind in ["sessionStart", "userPromptSubmitted", "preToolUse", "agentStop"] {
        assert!(types.iter().any(|seen| seen == kind), "{kind} in {types:?}");
    }
    let history = client.call("session.getMessages", json!({ "sessionId": id })).await.unwrap();
    let history = history["events"].as_array().unwrap();
    let last_message = history.iter().rfind(|event| event["type"] == "assistant.message").unwrap();
    assert!(last_message["data"]["content"].as_str().unwrap().contains("not on Sundays"), "{last_message}");
}

#[tokio::test]
async fn a_call_rejected_without_a_word_ends_the_turn() {
    let mut client = CopilotTestClient::start(test_scenario());
    let id = client.create_session(json!({})).await;
    client.call("session.send", json!({ "sessionId": id, "prompt": "write a.txt" })).await.unwrap();
    let request = client.next_event("permission.requested").await["data"]["requestId"].clone();
    let params = json!({ "sessionId": id, "requestId": request, "result": { "kind": "reject" } });
    let decided = client.call("session.permissions.handlePendingPermissionRequest", params).await.unwrap();
    assert_eq!(decided["success"], true);
    let events = client.events_until("session.idle").await;
    assert!(kinds(&events).contains(&"abort") && !kinds(&events).contains(&"assistant.message"), "{events:?}");
    let answer = client.call("session.sendAndWait", json!({ "sessionId": id, "prompt": "x" })).await.unwrap();
    assert_eq!(answer["aborted"], false, "the session goes on");
    client.close().await;
}

#[tokio::test]
async fn a_client_that_joins_brings_its_tools() {
    let mut client = CopilotTestClient::start(test_scenario());
    let id = client.create_session(json!({})).await;
    client.call("session.send", json!({ "sessionId": id, "prompt": "write a.txt" })).await.unwrap();
    let request = client.next_event("permission.requested").await["data"]["requestId"].clone();
    client.call("session.resume", json!({ "sessionId": id, "tools": lookup_tool() })).await.unwrap();
    let params = json!({ "sessionId": id, "requestId": request, "result": { "kind": "approve-once" } });
    client.call("session.permissions.handlePendingPermissionRequest", params).await.unwrap();
    client.events_until("session.idle").await;
    client.call("session.send", json!({ "sessionId": id, "prompt": "look up 7" })).await.unwrap();
    let permission = client.next_event("permission.requested").await["data"].clone();
    assert_eq!(permission["permissionRequest"]["toolName"], "lookup");
    client.close().await;
}

#[tokio::test]
async fn a_client_that_joins_is_told_which_options_come_too_late() {
    let mut client = CopilotTestClient::start(test_scenario());
    let id = client.create_session(json!({ "excludedTools": ["grep"], "instructionDirectories": ["/i"] })).await;
    client.call("session.send", json!({ "sessionId": id, "prompt": "write a.txt" })).await.unwrap();
    client.next_event("permission.requested").await;
    let wanted = json!({ "sessionId": id, "excludedTools": ["view"], "instructionDirectories": ["/i"] });
    client.call("session.resume", wanted).await.unwrap();
    client.call("session.send", json!({ "sessionId": id, "prompt": "hello" })).await.unwrap();
    let warning = client.next_event("session.warning").await["data"]["message"].clone();
    assert_eq!(warning, "the session is running, so these options have no effect: excludedTools");
    client.close().await;
}

#[tokio::test]
async fn the_type_of_a_failed_result_is_part_of_its_event() {
    let mut client = CopilotTestClient::start(test_scenario());
    let tools = json!([{ "name": "lookup", "skipPermission": true }]);
    let id = client.create_session(json!({ "tools": tools })).await;
    client.call("session.send", json!({ "sessionId": id, "prompt": "look up 7" })).await.unwrap();
    let request = client.next_event("external_tool.requested").await["data"]["requestId"].clone();
    let result = json!({ "resultType": "rejected", "textResultForLlm": "not on Sundays" });
    let answer = json!({ "sessionId": id, "requestId": request, "result": result });
    client.call("session.tools.handlePendingToolCall", answer).await.unwrap();
    let live = client.next_event("tool.execution_complete").await;
    assert_eq!(live["data"]["error"], json!({ "code": "rejected", "message": "not on Sundays" }));
    let history = client.call("session.getMessages", json!({ "sessionId": id })).await.unwrap();
    assert!(history["events"].as_array().unwrap().contains(&live), "{history}");
    client.close().await;
}

#[tokio::test]
async fn a_result_that_the_user_rejected_ends_the_turn() {
    let mut client = CopilotTestClient::start(test_scenario());
    let mut tools = lookup_tool();
    tools[0]["skipPermission"] = true.into();
    let id = client.create_session(json!({ "tools": tools })).await;
    client.call("session.send", json!({ "sessionId": id, "prompt": "look up 7" })).await.unwrap();
    let requested = client.next_event("external_tool.requested").await["data"]["requestId"].clone();
    let result = json!({ "textResultForLlm": "not in production", "resultType": "rejected" });
    let answer = json!({ "sessionId": id, "requestId": requested, "result": result });
    client.call("session.tools.handlePendingToolCall", answer).await.unwrap();
    let events = client.events_until("session.idle").await;
    let done = events.iter().find(|event| event["type"] == "tool.execution_complete").unwrap();
    assert_eq!(done["data"]["error"], json!({ "code": "rejected", "message": "not in production" }));
    assert!(!kinds(&events).contains(&"assistant.message"), "the model is not asked again: {:?}", kinds(&events));
    client.close().await;
}

#[tokio::test]
async fn a_client_that_approves_everything_or_has_no_user_is_understood() {
    let mut client = CopilotTestClient::start(test_scenario());
    let id = client.create_session(json!({})).await;
    client.call("session.send", json!({ "sessionId": id, "prompt": "write a.txt" })).await.unwrap();
    let request = client.next_event("permission.requested").await["data"].clone();
    assert!(request["resolvedByHook"].is_null());
    let nobody =
        json!({ "sessionId": id, "requestId": request["requestId"], "result": { "kind": "user-not-available" } });
    client.call("session.permissions.handlePendingPermissionRequest", nobody).await.unwrap();
    let done = client.next_event("tool.execution_complete").await["data"].clone();
    assert!(done["error"]["message"].as_str().unwrap().starts_with("Permission denied"), "{done}");
    client.events_until("session.idle").await;
    client.call("session.permissions.setApproveAll", json!({ "sessionId": id, "enabled": true })).await.unwrap();
    client.call("session.send", json!({ "sessionId": id, "prompt": "write b.txt" })).await.unwrap();
    let request = client.next_event("permission.requested").await["data"].clone();
    assert_eq!(request["resolvedByHook"], true, "the client has decided already");
    assert_eq!(client.next_event("tool.execution_complete").await["data"]["success"], true);
    client.close().await;
}
