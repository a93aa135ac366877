//! Hooks that are callbacks in the client.

use serde_json::{Value, json};
use testkit::session::scenario;

use super::visit::{ClaudeTestClient, ClaudeTestHost};

const SCRIPT: &str = "
version: 1
rules:
  - when: { turn: 1, contains: remember the milk }
    answer: [ { say: I remember. } ]
  - when: { turn: 1 }
    answer:
      - call: { tool: create, input: { path: a.txt, content: one } }
  - when: { answered: { tool: create, matches: house rules } }
    answer: [ { say: The house has rules. } ]
  - answer: [ { say: 'Done: ${answer}' } ]
";

fn initialize_with_hook(event: &str, matcher: Option<&str>) -> Value {
    json!({ "hooks": { event: [{ "matcher": matcher, "hookCallbackIds": ["hook_0"], "timeout": 10 }] } })
}

#[tokio::test]
async fn a_hook_blocks_a_call() {
    let test_host = ClaudeTestHost::new(scenario().script(SCRIPT).allow_all());
    let mut client =
        ClaudeTestClient::initialized(&test_host, &[], initialize_with_hook("PreToolUse", Some("Write|Edit"))).await;
    client.prompt("go").await;
    let request_frame = client.next_request("hook_callback").await;
    let request = &request_frame["request"];
    assert_eq!((&request["callback_id"], &request["input"]["tool_name"]), (&json!("hook_0"), &json!("Write")));
    assert_eq!(request["input"]["tool_input"]["file_path"], "a.txt");
    assert_eq!(request["tool_use_id"], request["input"]["tool_use_id"]);
    let hook_output = json!({ "hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "house rules" });
    client.answer(&request_frame, json!({ "hookSpecificOutput": hook_output })).await;
    let result = client.next_of_type("result").await;
    assert_eq!(result["result"], "The house has rules.");
    assert_eq!(request["input"]["session_id"], result["session_id"]);
    client.close().await;
    assert_eq!(test_host.fixture.file("a.txt"), None);
}

#[tokio::test]
async fn a_hook_with_an_invalid_answer_denies_the_call() {
    let test_host = ClaudeTestHost::new(scenario().script(SCRIPT).allow_all());
    let mut client = ClaudeTestClient::initialized(&test_host, &[], initialize_with_hook("PreToolUse", None)).await;
    client.prompt("go").await;
    let request_frame = client.next_request("hook_callback").await;
    client.answer(&request_frame, json!("deny")).await;
    client.next_of_type("result").await;
    client.close().await;
    assert_eq!(test_host.fixture.file("a.txt"), None);
}

#[tokio::test]
async fn a_hook_of_a_disconnected_client_denies_the_call() {
    let test_host = ClaudeTestHost::new(scenario().script(SCRIPT).allow_all());
    let mut client = ClaudeTestClient::initialized(&test_host, &[], initialize_with_hook("PreToolUse", None)).await;
    client.prompt("go").await;
    client.next_request("hook_callback").await;
    client.close().await;
    assert_eq!(test_host.fixture.file("a.txt"), None);
}

#[tokio::test]
async fn hook_changes_the_input_of_a_call() {
    let test_host = ClaudeTestHost::new(scenario().script(SCRIPT).allow_all());
    let mut client = ClaudeTestClient::initialized(&test_host, &[], initialize_with_hook("PreToolUse", None)).await;
    client.prompt("go").await;
    let request_frame = client.next_request("hook_callback").await;
    let updated = json!({ "file_path": "b.txt", "content": "two" });
    let hook_output = json!({ "hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": updated });
    client.answer(&request_frame, json!({ "hookSpecificOutput": hook_output })).await;
    client.next_of_type("result").await;
    client.close().await;
    assert_eq!((test_host.fixture.file("a.txt"), test_host.fixture.file("b.txt")), (None, Some("two".into())));
}

#[tokio::test]
async fn hook_adds_context_to_a_prompt_and_requests_are_answered_meanwhile() {
    let test_host = ClaudeTestHost::new(scenario().script(SCRIPT));
    let mut client =
        ClaudeTestClient::initialized(&test_host, &[], initialize_with_hook("UserPromptSubmit", None)).await;
    client.prompt("go").await;
    let request_frame = client.next_request("hook_callback").await;
    assert_eq!(request_frame["request"]["input"]["prompt"], "go");
    // The adapter answers meanwhile.
    assert_eq!(client.request(json!({ "subtype": "mcp_status" })).await["subtype"], "success");
    let hook_output = json!({ "hookEventName": "UserPromptSubmit", "additionalContext": "remember the milk" });
    client.answer(&request_frame, json!({ "hookSpecificOutput": hook_output })).await;
    assert_eq!(client.next_of_type("result").await["result"], "I remember.");
    client.close().await;
}

#[tokio::test]
async fn a_hook_that_blocks_a_prompt_ends_the_turn() {
    let test_host = ClaudeTestHost::new(scenario().script(SCRIPT));
    let mut client =
        ClaudeTestClient::initialized(&test_host, &[], initialize_with_hook("UserPromptSubmit", None)).await;
    client.prompt("go").await;
    let request_frame = client.next_request("hook_callback").await;
    client.answer(&request_frame, json!({ "decision": "block", "reason": "not on Sundays" })).await;
    let result = client.next_of_type("result").await;
    assert_eq!(result["result"], "a hook rejected the prompt: not on Sundays");
    assert_eq!(result["num_turns"], 0);
    client.close().await;
}

#[tokio::test]
async fn session_start_hooks_run_before_initialize_is_answered() {
    let test_host = ClaudeTestHost::new(scenario().script(SCRIPT));
    let mut client = ClaudeTestClient::new(&test_host, &[]);
    let mut request = initialize_with_hook("SessionStart", None);
    request["subtype"] = json!("initialize");
    client.send(json!({ "type": "control_request", "request_id": "r", "request": request })).await;
    let request_frame = client.next_request("hook_callback").await;
    assert_eq!(request_frame["request"]["input"]["hook_event_name"], "SessionStart");
    let hook_output = json!({ "hookEventName": "SessionStart", "additionalContext": "remember the milk" });
    client.answer(&request_frame, json!({ "hookSpecificOutput": hook_output })).await;
    client.next_of_type("control_response").await;
    client.prompt("go").await;
    assert_eq!(client.next_of_type("result").await["result"], "I remember.");
    client.close().await;
}

/// The model sees only what a redaction hook leaves of a result, regardless of its form.
#[tokio::test]
async fn hook_replaces_the_result_of_a_tool() {
    let outputs = [
        json!({ "updatedToolOutput": "gone" }),
        json!({ "updatedToolOutput": { "stdout": "gone", "stderr": "", "interrupted": false } }),
        json!({ "updatedToolOutput": { "type": "text", "file": { "filePath": "x", "content": "gone" } } }),
        json!({ "updatedMCPToolOutput": [{ "type": "text", "text": "gone" }] }),
        json!({ "updatedMCPToolOutput": { "content": [{ "type": "text", "text": "gone" }] } }),
        json!({ "updatedToolOutput": { "answer": "gone" } }),
        json!({ "updatedToolOutput": "" }),
        json!({ "updatedToolOutput": [] }),
        json!({ "updatedToolOutput": 5 }),
    ];
    for output in outputs {
        let test_host = ClaudeTestHost::new(scenario().script(SCRIPT).allow_all());
        let mut client =
            ClaudeTestClient::initialized(&test_host, &[], initialize_with_hook("PostToolUse", None)).await;
        client.prompt("go").await;
        let request_frame = client.next_request("hook_callback").await;
        let raw = request_frame["request"]["input"]["tool_response"].as_str().unwrap().to_owned();
        assert!(raw.contains("a.txt"), "{raw}");
        let mut hook_output = output.clone();
        hook_output["hookEventName"] = json!("PostToolUse");
        client.answer(&request_frame, json!({ "hookSpecificOutput": hook_output })).await;
        let result = client.next_of_type("result").await["result"].as_str().unwrap().to_owned();
        assert!(result.starts_with("Done: ") && !result.contains("a.txt"), "{output}: {result}");
        client.close().await;
    }
}

/// A result stays hidden if the hook that must filter it fails.
#[tokio::test]
async fn results_stay_hidden_if_their_hook_fails() {
    let test_host = ClaudeTestHost::new(scenario().script(SCRIPT).allow_all());
    let matcher = json!({ "hookCallbackIds": ["hook_0"], "onFailure": "block" });
    let mut client =
        ClaudeTestClient::initialized(&test_host, &[], json!({ "hooks": { "PostToolUse": [matcher] } })).await;
    client.prompt("go").await;
    let request_frame = client.next_request("hook_callback").await;
    client.answer(&request_frame, json!("nonsense")).await;
    let result = client.next_of_type("result").await["result"].as_str().unwrap().to_owned();
    assert!(result.contains("failed") && !result.contains("a.txt"), "{result}");
    client.close().await;
}

/// `continue: false` stops the agent: no further model request is sent.
#[tokio::test]
async fn a_hook_stops_the_agent() {
    for event in ["PreToolUse", "PostToolUse"] {
        let test_host = ClaudeTestHost::new(scenario().script(SCRIPT).allow_all());
        let mut client = ClaudeTestClient::initialized(&test_host, &[], initialize_with_hook(event, None)).await;
        client.prompt("go").await;
        let request_frame = client.next_request("hook_callback").await;
        client.answer(&request_frame, json!({ "continue": false, "stopReason": "enough for today" })).await;
        let result = client.next_of_type("result").await;
        assert_eq!(result["is_error"], true, "{result}");
        assert!(result.to_string().contains("enough for today"), "{result}");
        let id = format!("ses-{}", result["session_id"].as_str().unwrap());
        assert_eq!(test_host.fixture.model(id.parse().unwrap()).requests().len(), 1, "{event}");
        client.close().await;
        assert_eq!(test_host.fixture.file("a.txt").is_some(), event == "PostToolUse");
    }
}
