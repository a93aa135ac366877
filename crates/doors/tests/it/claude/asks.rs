//! What a client decides.

use serde_json::json;
use testkit::session::scenario;

use super::visit::{Inn, Visit};

const SCRIPT: &str = "
version: 1
rules:
  - when: { prompt: ask me, turn: 1 }
    answer:
      - call: { tool: ask_user, input: { question: 'Which?', choices: [a, b] } }
  - when: { turn: 1 }
    answer:
      - call: { tool: create, input: { path: a.txt, content: one } }
  - when: { answered: { tool: create, status: denied } }
    answer: [ { say: I was not let. } ]
  - answer: [ { say: 'Done: ${answer}' } ]
";

const STDIO: [&str; 2] = ["--permission-prompt-tool", "stdio"];

#[tokio::test]
async fn d2_a_client_allows_a_call_and_changes_it() {
    let inn = Inn::new(scenario().script(SCRIPT));
    let mut visit = Visit::greeted(&inn, &STDIO, json!({})).await;
    visit.prompt("go").await;
    let asked = visit.asked("can_use_tool").await;
    let request = &asked["request"];
    assert_eq!((&request["tool_name"], &request["input"]["file_path"]), (&json!("Write"), &json!("a.txt")));
    let updated = json!({ "file_path": "b.txt", "content": "two" });
    visit.answer(&asked, json!({ "behavior": "allow", "updatedInput": updated })).await;
    let result = visit.until_type("result").await;
    assert_eq!(result["permission_denials"], json!([]));
    visit.close().await;
    assert_eq!((inn.stage.file("a.txt"), inn.stage.file("b.txt")), (None, Some("two".into())));
}

#[tokio::test]
async fn d2_a_client_denies_a_call_and_the_result_names_it() {
    let inn = Inn::new(scenario().script(SCRIPT));
    let mut visit = Visit::greeted(&inn, &STDIO, json!({})).await;
    visit.prompt("go").await;
    let asked = visit.asked("can_use_tool").await;
    visit.answer(&asked, json!({ "behavior": "deny", "message": "not today" })).await;
    let result = visit.until_type("result").await;
    assert_eq!(result["result"], "I was not let.");
    assert_eq!(result["permission_denials"][0]["tool_name"], "Write");
    let (seen, ended) = visit.close().await;
    assert!(seen.iter().any(|frame| frame.to_string().contains("not today")));
    assert_eq!((inn.stage.file("a.txt"), ended), (None, bosun_doors::Ended::Well));
}

#[tokio::test]
async fn d2_a_denial_may_end_the_turn() {
    let inn = Inn::new(scenario().script(SCRIPT));
    let mut visit = Visit::greeted(&inn, &STDIO, json!({})).await;
    visit.prompt("go").await;
    let asked = visit.asked("can_use_tool").await;
    visit.answer(&asked, json!({ "behavior": "deny", "message": "stop", "interrupt": true })).await;
    visit.until_type("result").await;
    visit.close().await;
    assert_eq!(inn.stage.file("a.txt"), None);
}

#[tokio::test]
async fn d2_nobody_is_asked_without_a_callback_or_where_the_mode_says_so() {
    for args in [&[][..], &["--permission-prompt-tool=stdio", "--permission-mode=dontAsk"]] {
        let inn = Inn::new(scenario().script(SCRIPT));
        let mut visit = Visit::greeted(&inn, args, json!({})).await;
        visit.prompt("go").await;
        assert_eq!(visit.until_type("result").await["result"], "I was not let.");
        let (seen, _) = visit.close().await;
        assert!(seen.iter().all(|frame| frame["type"] != "control_request"));
    }
}

#[tokio::test]
async fn d2_another_mode_lets_calls_run_from_then_on() {
    let inn = Inn::new(scenario().script(SCRIPT));
    let mut visit = Visit::greeted(&inn, &STDIO, json!({})).await;
    visit.request(json!({ "subtype": "set_permission_mode", "mode": "acceptEdits" })).await;
    visit.prompt("go").await;
    visit.until_type("result").await;
    let (seen, _) = visit.close().await;
    assert!(seen.iter().all(|frame| frame["type"] != "control_request"));
    assert_eq!(inn.stage.file("a.txt").as_deref(), Some("one"));
}

#[tokio::test]
async fn d2_a_question_of_the_model_is_put_to_the_client() {
    let inn = Inn::new(scenario().script(SCRIPT));
    let mut visit = Visit::greeted(&inn, &STDIO, json!({})).await;
    visit.prompt("ask me").await;
    let asked = visit.asked("can_use_tool").await;
    assert_eq!(asked["request"]["tool_name"], "AskUserQuestion");
    let mut input = asked["request"]["input"].clone();
    input["answers"] = json!({ "Which?": "b" });
    visit.answer(&asked, json!({ "behavior": "allow", "updatedInput": input })).await;
    let result = visit.until_type("result").await;
    assert!(result["result"].as_str().unwrap().contains('b'), "{result}");
    visit.close().await;
}

#[tokio::test]
async fn d2_what_is_no_longer_asked_is_cancelled() {
    let inn = Inn::new(scenario().script(SCRIPT));
    let mut visit = Visit::greeted(&inn, &STDIO, json!({})).await;
    visit.prompt("go").await;
    let asked = visit.asked("can_use_tool").await;
    visit.say(json!({ "type": "control_request", "request_id": "i", "request": { "subtype": "interrupt" } })).await;
    let cancelled = visit.until_type("control_cancel_request").await;
    assert_eq!(cancelled["request_id"], asked["request_id"]);
    let (seen, _) = visit.close().await;
    assert!(seen.iter().any(|frame| frame["type"] == "result" && frame["terminal_reason"] == "aborted_tools"));
}

/// A rule that is none does not leave the call without a decision.
#[tokio::test]
async fn a_call_that_is_allowed_with_a_rule_that_cannot_be_read_runs_all_the_same() {
    let inn = Inn::new(scenario().script(SCRIPT));
    let mut visit = Visit::greeted(&inn, &STDIO, json!({})).await;
    visit.prompt("go").await;
    let asked = visit.asked("can_use_tool").await;
    let rule = json!({ "toolName": "Write", "ruleContent": "[" });
    let update = json!({ "type": "addRules", "behavior": "allow", "rules": [rule], "destination": "session" });
    visit.answer(&asked, json!({ "behavior": "allow", "updatedPermissions": [update] })).await;
    visit.until_type("result").await;
    visit.close().await;
    assert_eq!(inn.stage.file("a.txt").as_deref(), Some("one"));
}
