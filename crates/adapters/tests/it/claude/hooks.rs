//! Hooks that are functions of the client.

use serde_json::{Value, json};
use testkit::session::scenario;

use super::visit::{Inn, Visit};

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

fn hello(event: &str, matcher: Option<&str>) -> Value {
    json!({ "hooks": { event: [{ "matcher": matcher, "hookCallbackIds": ["hook_0"], "timeout": 10 }] } })
}

#[tokio::test]
async fn a_hook_blocks_a_call() {
    let inn = Inn::new(scenario().script(SCRIPT).allow_all());
    let mut visit = Visit::greeted(&inn, &[], hello("PreToolUse", Some("Write|Edit"))).await;
    visit.prompt("go").await;
    let asked = visit.asked("hook_callback").await;
    let request = &asked["request"];
    assert_eq!((&request["callback_id"], &request["input"]["tool_name"]), (&json!("hook_0"), &json!("Write")));
    assert_eq!(request["input"]["tool_input"]["file_path"], "a.txt");
    assert_eq!(request["tool_use_id"], request["input"]["tool_use_id"]);
    let said = json!({ "hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "house rules" });
    visit.answer(&asked, json!({ "hookSpecificOutput": said })).await;
    let result = visit.until_type("result").await;
    assert_eq!(result["result"], "The house has rules.");
    assert_eq!(request["input"]["session_id"], result["session_id"]);
    visit.close().await;
    assert_eq!(inn.stage.file("a.txt"), None);
}

#[tokio::test]
async fn a_hook_with_an_invalid_answer_denies_the_call() {
    let inn = Inn::new(scenario().script(SCRIPT).allow_all());
    let mut visit = Visit::greeted(&inn, &[], hello("PreToolUse", None)).await;
    visit.prompt("go").await;
    let asked = visit.asked("hook_callback").await;
    visit.answer(&asked, json!("deny")).await;
    visit.until_type("result").await;
    visit.close().await;
    assert_eq!(inn.stage.file("a.txt"), None);
}

#[tokio::test]
async fn a_hook_of_a_disconnected_client_denies_the_call() {
    let inn = Inn::new(scenario().script(SCRIPT).allow_all());
    let mut visit = Visit::greeted(&inn, &[], hello("PreToolUse", None)).await;
    visit.prompt("go").await;
    visit.asked("hook_callback").await;
    visit.close().await;
    assert_eq!(inn.stage.file("a.txt"), None);
}

#[tokio::test]
async fn a_hook_changes_what_a_call_is_run_with() {
    let inn = Inn::new(scenario().script(SCRIPT).allow_all());
    let mut visit = Visit::greeted(&inn, &[], hello("PreToolUse", None)).await;
    visit.prompt("go").await;
    let asked = visit.asked("hook_callback").await;
    let updated = json!({ "file_path": "b.txt", "content": "two" });
    let said = json!({ "hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": updated });
    visit.answer(&asked, json!({ "hookSpecificOutput": said })).await;
    visit.until_type("result").await;
    visit.close().await;
    assert_eq!((inn.stage.file("a.txt"), inn.stage.file("b.txt")), (None, Some("two".into())));
}

#[tokio::test]
async fn a_hook_adds_to_a_prompt_and_another_message_waits_for_it() {
    let inn = Inn::new(scenario().script(SCRIPT));
    let mut visit = Visit::greeted(&inn, &[], hello("UserPromptSubmit", None)).await;
    visit.prompt("go").await;
    let asked = visit.asked("hook_callback").await;
    assert_eq!(asked["request"]["input"]["prompt"], "go");
    // The adapter answers meanwhile.
    assert_eq!(visit.request(json!({ "subtype": "mcp_status" })).await["subtype"], "success");
    let said = json!({ "hookEventName": "UserPromptSubmit", "additionalContext": "remember the milk" });
    visit.answer(&asked, json!({ "hookSpecificOutput": said })).await;
    assert_eq!(visit.until_type("result").await["result"], "I remember.");
    visit.close().await;
}

#[tokio::test]
async fn a_hook_that_blocks_a_prompt_ends_the_turn() {
    let inn = Inn::new(scenario().script(SCRIPT));
    let mut visit = Visit::greeted(&inn, &[], hello("UserPromptSubmit", None)).await;
    visit.prompt("go").await;
    let asked = visit.asked("hook_callback").await;
    visit.answer(&asked, json!({ "decision": "block", "reason": "not on Sundays" })).await;
    let result = visit.until_type("result").await;
    assert_eq!(result["result"], "a hook rejected the prompt: not on Sundays");
    assert_eq!(result["num_turns"], 0);
    visit.close().await;
}

#[tokio::test]
async fn a_session_start_hook_is_heard_before_the_greeting_is_answered() {
    let inn = Inn::new(scenario().script(SCRIPT));
    let mut visit = Visit::new(&inn, &[]);
    let mut request = hello("SessionStart", None);
    request["subtype"] = json!("initialize");
    visit.say(json!({ "type": "control_request", "request_id": "r", "request": request })).await;
    let asked = visit.asked("hook_callback").await;
    assert_eq!(asked["request"]["input"]["hook_event_name"], "SessionStart");
    let said = json!({ "hookEventName": "SessionStart", "additionalContext": "remember the milk" });
    visit.answer(&asked, json!({ "hookSpecificOutput": said })).await;
    visit.until_type("control_response").await;
    visit.prompt("go").await;
    assert_eq!(visit.until_type("result").await["result"], "I remember.");
    visit.close().await;
}

/// What a redaction hook leaves of a result is what the model sees, whatever its form.
#[tokio::test]
async fn a_hook_replaces_what_a_tool_gave() {
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
        let inn = Inn::new(scenario().script(SCRIPT).allow_all());
        let mut visit = Visit::greeted(&inn, &[], hello("PostToolUse", None)).await;
        visit.prompt("go").await;
        let asked = visit.asked("hook_callback").await;
        let raw = asked["request"]["input"]["tool_response"].as_str().unwrap().to_owned();
        assert!(raw.contains("a.txt"), "{raw}");
        let mut said = output.clone();
        said["hookEventName"] = json!("PostToolUse");
        visit.answer(&asked, json!({ "hookSpecificOutput": said })).await;
        let result = visit.until_type("result").await["result"].as_str().unwrap().to_owned();
        assert!(result.starts_with("Done: ") && !result.contains("a.txt"), "{output}: {result}");
        visit.close().await;
    }
}

/// A hook that must look through results before they are shown, and fails, hides them.
#[tokio::test]
async fn a_result_is_not_shown_without_the_hook_that_was_to_look_through_it() {
    let inn = Inn::new(scenario().script(SCRIPT).allow_all());
    let matcher = json!({ "hookCallbackIds": ["hook_0"], "onFailure": "block" });
    let mut visit = Visit::greeted(&inn, &[], json!({ "hooks": { "PostToolUse": [matcher] } })).await;
    visit.prompt("go").await;
    let asked = visit.asked("hook_callback").await;
    visit.answer(&asked, json!("nonsense")).await;
    let result = visit.until_type("result").await["result"].as_str().unwrap().to_owned();
    assert!(result.contains("failed") && !result.contains("a.txt"), "{result}");
    visit.close().await;
}

/// `continue: false` stops the agent: no model is asked again.
#[tokio::test]
async fn a_hook_stops_the_agent() {
    for event in ["PreToolUse", "PostToolUse"] {
        let inn = Inn::new(scenario().script(SCRIPT).allow_all());
        let mut visit = Visit::greeted(&inn, &[], hello(event, None)).await;
        visit.prompt("go").await;
        let asked = visit.asked("hook_callback").await;
        visit.answer(&asked, json!({ "continue": false, "stopReason": "enough for today" })).await;
        let result = visit.until_type("result").await;
        assert_eq!(result["is_error"], true, "{result}");
        assert!(result.to_string().contains("enough for today"), "{result}");
        let id = format!("ses-{}", result["session_id"].as_str().unwrap());
        assert_eq!(inn.stage.model(id.parse().unwrap()).requests().len(), 1, "{event}");
        visit.close().await;
        assert_eq!(inn.stage.file("a.txt").is_some(), event == "PostToolUse");
    }
}
