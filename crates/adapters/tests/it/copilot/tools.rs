//! What a client does for its session: tools, hooks, permissions and answers.

use serde_json::{Value, json};
use testkit::session::{Scenario, scenario};

use super::client::{Client, kinds};

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

fn stage() -> Scenario {
    scenario().script(SCRIPT).ask_wait(None)
}

fn look_up() -> Value {
    json!([{ "name": "lookup", "description": "Finds an issue", "parameters": { "type": "object" } }])
}

#[tokio::test]
async fn a_tool_of_the_client_is_asked_about_told_and_answered() {
    let mut client = Client::of(stage());
    let id = client.session(json!({ "tools": look_up() })).await;
    client.call("session.send", json!({ "sessionId": id, "prompt": "look up 7" })).await.unwrap();
    let asked = client.event("permission.requested").await["data"].clone();
    assert_eq!(
        (&asked["permissionRequest"]["kind"], &asked["permissionRequest"]["toolName"]),
        (&json!("custom-tool"), &json!("lookup"))
    );
    let allowed = json!({ "sessionId": id, "requestId": asked["requestId"], "result": { "kind": "approve-once" } });
    let decided = client.call("session.permissions.handlePendingPermissionRequest", allowed.clone()).await.unwrap();
    assert_eq!(decided["success"], true);
    let twice = client.call("session.permissions.handlePendingPermissionRequest", allowed).await.unwrap();
    assert_eq!(twice["success"], false);
    let events = client.events_to("external_tool.requested").await;
    assert!(kinds(&events).contains(&"tool.execution_start"), "{:?}", kinds(&events));
    let requested = events.last().unwrap()["data"].clone();
    assert_eq!((&requested["toolName"], &requested["arguments"]), (&json!("lookup"), &json!({ "id": "7" })));
    let answer = json!({ "sessionId": id, "requestId": requested["requestId"], "result": "issue 7 is open" });
    let taken = client.call("session.tools.handlePendingToolCall", answer.clone()).await.unwrap();
    assert_eq!(taken["success"], true);
    let twice = client.call("session.tools.handlePendingToolCall", answer).await.unwrap();
    assert_eq!(twice["success"], false);
    let said = client.events_to("session.idle").await;
    let said = said.iter().rfind(|event| event["type"] == "assistant.message").unwrap();
    assert_eq!(said["data"]["content"], "It says: issue 7 is open");
    client.leave().await;
}

#[tokio::test]
async fn a_tool_that_needs_no_permission_is_run_and_no_tool_of_ours_with_it() {
    let mut client = Client::of(stage());
    let tools = json!([{ "name": "lookup", "skipPermission": true }, { "name": "edit", "skipPermission": true }]);
    let id = client.session(json!({ "tools": tools })).await;
    assert_eq!(*client.session_host.flags.lock().unwrap(), ["--ask-wait=for-ever", "--no-ask-user"]);
    client.call("session.send", json!({ "sessionId": id, "prompt": "look up 7" })).await.unwrap();
    let events = client.events_to("external_tool.requested").await;
    assert!(!kinds(&events).contains(&"permission.requested"), "{:?}", kinds(&events));
    let request = &events.last().unwrap()["data"]["requestId"];
    let answer = json!({ "sessionId": id, "requestId": request, "result": "open" });
    client.call("session.tools.handlePendingToolCall", answer).await.unwrap();
    client.events_to("session.idle").await;
    client.call("session.send", json!({ "sessionId": id, "prompt": "write a.txt" })).await.unwrap();
    client.event("permission.requested").await;
    client.leave().await;
}

#[tokio::test]
async fn whoever_may_only_look_for_a_session_is_granted_nothing_else() {
    let mut client = Client::of(stage());
    let id = client.session(json!({})).await;
    for name in ["a.txt", "b.txt"] {
        client.call("session.send", json!({ "sessionId": id, "prompt": format!("write {name}") })).await.unwrap();
        // The second is asked about as well.
        let asked = client.event("permission.requested").await["data"]["requestId"].clone();
        let result = json!({ "kind": "approve-read-only-for-session", "directories": [] });
        let params = json!({ "sessionId": id, "requestId": asked, "result": result });
        client.call("session.permissions.handlePendingPermissionRequest", params).await.unwrap();
        client.events_to("session.idle").await;
    }
    client.leave().await;
}

#[tokio::test]
async fn a_port_is_not_opened_without_a_token() {
    let client = Client::of(stage());
    let session_host = std::sync::Arc::clone(&client.session_host) as std::sync::Arc<dyn bosun_adapters::SessionHost>;
    let words = ["--headless", "--port", "0"].map(str::to_owned).to_vec();
    assert_eq!(
        bosun_adapters::copilot::serve(session_host, words, None).await,
        bosun_adapters::AdapterExit::UsageError
    );
    client.leave().await;
}

#[tokio::test]
async fn a_client_that_comes_back_is_told_again_what_waits_for_it() {
    let mut client = Client::of(stage());
    let stage = client.stage();
    let id = client.session(json!({})).await;
    client.call("session.send", json!({ "sessionId": id, "prompt": "write a.txt" })).await.unwrap();
    let first = client.event("permission.requested").await["data"]["requestId"].clone();
    client.call("session.resume", json!({ "sessionId": id })).await.unwrap();
    let again = client.event("permission.requested").await;
    assert_eq!(again["data"]["requestId"], first);
    let denied = json!({ "kind": "reject", "feedback": "not this file" });
    let params = json!({ "sessionId": id, "requestId": first, "result": denied });
    client.call("session.permissions.handlePendingPermissionRequest", params).await.unwrap();
    let completed = client.event("permission.completed").await["data"]["result"].clone();
    assert_eq!(completed, json!({ "kind": "denied-interactively-by-user", "feedback": "not this file" }));
    let events = client.events_to("session.idle").await;
    let said = events.iter().rfind(|event| event["type"] == "assistant.message").unwrap();
    assert!(said["data"]["content"].as_str().unwrap().contains("not this file"));
    assert_eq!(stage.file("a.txt"), None);
    client.leave().await;
}

#[tokio::test]
async fn a_question_of_the_model_is_put_to_the_client() {
    let mut client = Client::of(stage());
    let id = client.session(json!({ "requestUserInput": true })).await;
    client.call("session.send", json!({ "sessionId": id, "prompt": "ask me" })).await.unwrap();
    let asked = client.asked("userInput.request").await;
    assert_eq!(
        (&asked["params"]["question"], &asked["params"]["choices"]),
        (&json!("Which colour?"), &json!(["red", "green"]))
    );
    client.answer(&asked, json!({ "answer": "green", "wasFreeform": false })).await;
    let events = client.events_to("session.idle").await;
    let said = events.iter().rfind(|event| event["type"] == "assistant.message").unwrap();
    assert!(said["data"]["content"].as_str().unwrap().contains("green"), "{said}");
    client.leave().await;
}

#[tokio::test]
async fn a_hook_of_the_client_blocks_a_call() {
    let mut client = Client::of(stage().allow_all());
    let making = json!({ "sessionId": "0190aaaa-0000-7000-8000-000000000002", "hooks": true });
    client.begin("session.create", making).await;
    let mut types = Vec::new();
    client.begin("session.send", json!({ "sessionId": "0190aaaa-0000-7000-8000-000000000002", "prompt": "x" })).await;
    // The session is made while its first hook waits, or after it; both are right.
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
            client.begin("session.send", json!({ "sessionId": id, "prompt": "write a.txt" })).await;
        } else if message["params"]["event"]["type"] == "session.idle" {
            break;
        }
    }
    for kind in ["sessionStart", "userPromptSubmitted", "preToolUse", "agentStop"] {
        assert!(types.iter().any(|told| told == kind), "{kind} in {types:?}");
    }
    let kept = client.call("session.getMessages", json!({ "sessionId": id })).await.unwrap();
    let kept = kept["events"].as_array().unwrap();
    let said = kept.iter().rfind(|event| event["type"] == "assistant.message").unwrap();
    assert!(said["data"]["content"].as_str().unwrap().contains("not on Sundays"), "{said}");
}
