//! What a client decides.

use serde_json::{Value, json};
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

/// Every message is a wish to write.
const WRITES: &str = "
version: 1
rules:
  - when: { answered: { tool: create } }
    answer: [ { say: Done. } ]
  - answer:
      - call: { tool: create, input: { path: a.txt, content: one } }
";

const STDIO: [&str; 2] = ["--permission-prompt-tool", "stdio"];

#[tokio::test]
async fn a_client_allows_a_call_and_changes_it() {
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
async fn a_client_denies_a_call_and_the_result_names_it() {
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
    assert_eq!((inn.stage.file("a.txt"), ended), (None, bosun_adapters::AdapterExit::Success));
}

#[tokio::test]
async fn a_denial_may_end_the_turn() {
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
async fn nobody_is_asked_without_a_callback_or_where_the_mode_says_so() {
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
async fn another_mode_lets_calls_run_from_then_on() {
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
async fn a_question_of_the_model_is_put_to_the_client() {
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
async fn what_is_no_longer_asked_is_cancelled() {
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

/// Updates that come with a decision hold for the calls that follow: what they deny is denied, in every mode.
#[tokio::test]
async fn updates_of_the_rules_take_effect() {
    let update = |kind: &str, behavior: &str, rule: &str| json!({ "type": kind, "behavior": behavior, "rules": [{ "toolName": rule }], "destination": "session" });
    let cases = [
        (vec![update("addRules", "deny", "Write")], false),
        (vec![update("replaceRules", "deny", "Write")], false),
        (vec![update("addRules", "deny", "Write"), update("removeRules", "deny", "Write")], true),
        (vec![update("addRules", "deny", "Read"), update("replaceRules", "deny", "Write")], false),
        (vec![update("addRules", "allow", "Write"), update("addRules", "deny", "Write")], false),
        (vec![update("addRules", "nonsense", "Write")], true),
    ];
    for (updates, runs) in cases {
        let inn = Inn::new(scenario().script(WRITES));
        let mut visit = Visit::greeted(&inn, &STDIO, json!({})).await;
        visit.prompt("go").await;
        let asked = visit.asked("can_use_tool").await;
        let deny = json!({ "behavior": "deny", "message": "not yet", "updatedPermissions": updates });
        visit.answer(&asked, deny).await;
        visit.until_type("result").await;
        visit.request(json!({ "subtype": "set_permission_mode", "mode": "bypassPermissions" })).await;
        visit.prompt("go again").await;
        visit.until_type("result").await;
        visit.close().await;
        assert_eq!(inn.stage.file("a.txt").is_some(), runs, "{updates:?}");
    }
}

#[tokio::test]
async fn a_rule_that_asks_is_asked_about_even_where_everything_is_allowed() {
    let inn = Inn::new(scenario().script(WRITES));
    let mut visit = Visit::greeted(&inn, &STDIO, json!({})).await;
    visit.prompt("go").await;
    let asked = visit.asked("can_use_tool").await;
    let rule = json!({ "type": "addRules", "behavior": "ask", "rules": [{ "toolName": "Write" }] });
    visit.answer(&asked, json!({ "behavior": "deny", "message": "no", "updatedPermissions": [rule] })).await;
    visit.until_type("result").await;
    visit.request(json!({ "subtype": "set_permission_mode", "mode": "bypassPermissions" })).await;
    visit.prompt("go again").await;
    let asked = visit.asked("can_use_tool").await;
    visit.answer(&asked, json!({ "behavior": "deny", "message": "no" })).await;
    visit.until_type("result").await;
    visit.close().await;
    assert_eq!(inn.stage.file("a.txt"), None);
}

/// A policy of whoever manages the client is kept to, or the session is refused.
#[tokio::test]
async fn managed_settings_are_kept_to_or_refused() {
    let no_bypass = r#"{"permissions":{"disableBypassPermissionsMode":"disable"}}"#;
    let refused: [(&[&str], Value); 6] = [
        (&["--managed-settings", r#"{"allowManagedHooksOnly":true}"#], json!({})),
        (&["--managed-settings", "{"], json!({})),
        (&["--managed-settings="], json!({})),
        (&["--managed-settings-in-initialize"], json!({})),
        (&[], json!({ "managedSettings": { "sandbox": { "enabled": true } } })),
        (&["--managed-settings", no_bypass, "--permission-mode=bypassPermissions"], json!({})),
    ];
    for (args, hello) in refused {
        let inn = Inn::new(scenario().script(SCRIPT));
        let mut visit = Visit::greeted(&inn, args, hello).await;
        visit.prompt("go").await;
        assert_eq!(visit.until_type("result").await["is_error"], true, "{args:?}");
        assert_eq!(visit.close().await.1, bosun_adapters::AdapterExit::Failed);
        assert!(inn.orders.lock().unwrap().is_empty(), "{args:?}");
    }
    let inn = Inn::new(scenario().script(SCRIPT));
    let hello = json!({ "managedSettings": { "permissions": { "deny": ["Bash(touch *)"], "ask": ["Read"] } } });
    let mut visit = Visit::greeted(&inn, &["--managed-settings", no_bypass], hello).await;
    let bypass = visit.request(json!({ "subtype": "set_permission_mode", "mode": "bypassPermissions" })).await;
    assert_eq!(bypass["subtype"], "error");
    visit.close().await;
    let flags = inn.orders.lock().unwrap()[0].clone();
    assert!(flags.contains(&"--deny=shell(touch *)".into()) && flags.contains(&"--ask=read".into()), "{flags:?}");
}

#[tokio::test]
async fn a_sandbox_that_must_be_there_and_a_rule_that_cannot_be_read_refuse_the_session() {
    let settings = [
        r#"{"sandbox":{"enabled":true,"failIfUnavailable":true}}"#,
        r#"{"sandbox":{"enabled":true,"allowUnsandboxedCommands":false}}"#,
        r#"{"permissions":{"deny":[" "]}}"#,
    ];
    for settings in settings {
        let inn = Inn::new(scenario().script(SCRIPT));
        let mut visit = Visit::greeted(&inn, &["--settings", settings], json!({})).await;
        visit.prompt("go").await;
        assert_eq!(visit.until_type("result").await["is_error"], true, "{settings}");
        visit.close().await;
    }
}
