//! Asks that a client decides, and rules that it sets.

use serde_json::{Value, json};
use testkit::session::scenario;

use super::visit::{ClaudeTestClient, ClaudeTestHost};

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

/// Every message leads to a call of `create`.
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
async fn client_allows_a_call_with_changed_input() {
    let test_host = ClaudeTestHost::new(scenario().script(SCRIPT));
    let mut client = ClaudeTestClient::initialized(&test_host, &STDIO, json!({})).await;
    client.prompt("go").await;
    let request_frame = client.next_request("can_use_tool").await;
    let request = &request_frame["request"];
    assert_eq!((&request["tool_name"], &request["input"]["file_path"]), (&json!("Write"), &json!("a.txt")));
    let updated = json!({ "file_path": "b.txt", "content": "two" });
    client.answer(&request_frame, json!({ "behavior": "allow", "updatedInput": updated })).await;
    let result = client.next_of_type("result").await;
    assert_eq!(result["permission_denials"], json!([]));
    client.close().await;
    assert_eq!((test_host.fixture.file("a.txt"), test_host.fixture.file("b.txt")), (None, Some("two".into())));
}

#[tokio::test]
async fn denied_calls_are_listed_in_the_result() {
    let test_host = ClaudeTestHost::new(scenario().script(SCRIPT));
    let mut client = ClaudeTestClient::initialized(&test_host, &STDIO, json!({})).await;
    client.prompt("go").await;
    let request_frame = client.next_request("can_use_tool").await;
    client.answer(&request_frame, json!({ "behavior": "deny", "message": "not today" })).await;
    let result = client.next_of_type("result").await;
    assert_eq!(result["result"], "I was not let.");
    assert_eq!(result["permission_denials"][0]["tool_name"], "Write");
    let (seen, ended) = client.close().await;
    assert!(seen.iter().any(|frame| frame.to_string().contains("not today")));
    assert_eq!((test_host.fixture.file("a.txt"), ended), (None, bosun_adapters::AdapterExit::Success));
}

#[tokio::test]
async fn denial_can_interrupt_the_turn() {
    let test_host = ClaudeTestHost::new(scenario().script(SCRIPT));
    let mut client = ClaudeTestClient::initialized(&test_host, &STDIO, json!({})).await;
    client.prompt("go").await;
    let request_frame = client.next_request("can_use_tool").await;
    client.answer(&request_frame, json!({ "behavior": "deny", "message": "stop", "interrupt": true })).await;
    client.next_of_type("result").await;
    client.close().await;
    assert_eq!(test_host.fixture.file("a.txt"), None);
}

#[tokio::test]
async fn client_is_not_asked_without_a_callback_or_in_dont_ask_mode() {
    for args in [&[][..], &["--permission-prompt-tool=stdio", "--permission-mode=dontAsk"]] {
        let test_host = ClaudeTestHost::new(scenario().script(SCRIPT));
        let mut client = ClaudeTestClient::initialized(&test_host, args, json!({})).await;
        client.prompt("go").await;
        assert_eq!(client.next_of_type("result").await["result"], "I was not let.");
        let (seen, _) = client.close().await;
        assert!(seen.iter().all(|frame| frame["type"] != "control_request"));
    }
}

#[tokio::test]
async fn changed_mode_applies_to_later_calls() {
    let test_host = ClaudeTestHost::new(scenario().script(SCRIPT));
    let mut client = ClaudeTestClient::initialized(&test_host, &STDIO, json!({})).await;
    client.request(json!({ "subtype": "set_permission_mode", "mode": "acceptEdits" })).await;
    client.prompt("go").await;
    client.next_of_type("result").await;
    let (seen, _) = client.close().await;
    assert!(seen.iter().all(|frame| frame["type"] != "control_request"));
    assert_eq!(test_host.fixture.file("a.txt").as_deref(), Some("one"));
}

#[tokio::test]
async fn questions_of_the_model_are_sent_to_the_client() {
    let test_host = ClaudeTestHost::new(scenario().script(SCRIPT));
    let mut client = ClaudeTestClient::initialized(&test_host, &STDIO, json!({})).await;
    client.prompt("ask me").await;
    let request_frame = client.next_request("can_use_tool").await;
    assert_eq!(request_frame["request"]["tool_name"], "AskUserQuestion");
    let mut input = request_frame["request"]["input"].clone();
    input["answers"] = json!({ "Which?": "b" });
    client.answer(&request_frame, json!({ "behavior": "allow", "updatedInput": input })).await;
    let result = client.next_of_type("result").await;
    assert!(result["result"].as_str().unwrap().contains('b'), "{result}");
    client.close().await;
}

#[tokio::test]
async fn asks_are_cancelled_when_no_longer_needed() {
    let test_host = ClaudeTestHost::new(scenario().script(SCRIPT));
    let mut client = ClaudeTestClient::initialized(&test_host, &STDIO, json!({})).await;
    client.prompt("go").await;
    let request_frame = client.next_request("can_use_tool").await;
    client.send(json!({ "type": "control_request", "request_id": "i", "request": { "subtype": "interrupt" } })).await;
    let cancelled = client.next_of_type("control_cancel_request").await;
    assert_eq!(cancelled["request_id"], request_frame["request_id"]);
    let (seen, _) = client.close().await;
    assert!(seen.iter().any(|frame| frame["type"] == "result" && frame["terminal_reason"] == "aborted_tools"));
}

/// An invalid rule does not leave the call without a decision.
#[tokio::test]
async fn allowed_call_runs_despite_an_invalid_rule() {
    let test_host = ClaudeTestHost::new(scenario().script(SCRIPT));
    let mut client = ClaudeTestClient::initialized(&test_host, &STDIO, json!({})).await;
    client.prompt("go").await;
    let request_frame = client.next_request("can_use_tool").await;
    let rule = json!({ "toolName": "Write", "ruleContent": "[" });
    let update = json!({ "type": "addRules", "behavior": "allow", "rules": [rule], "destination": "session" });
    client.answer(&request_frame, json!({ "behavior": "allow", "updatedPermissions": [update] })).await;
    client.next_of_type("result").await;
    client.close().await;
    assert_eq!(test_host.fixture.file("a.txt").as_deref(), Some("one"));
}

/// Rule updates that come with a decision apply to later calls: their denials hold in every mode.
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
        let test_host = ClaudeTestHost::new(scenario().script(WRITES));
        let mut client = ClaudeTestClient::initialized(&test_host, &STDIO, json!({})).await;
        client.prompt("go").await;
        let request_frame = client.next_request("can_use_tool").await;
        let deny = json!({ "behavior": "deny", "message": "not yet", "updatedPermissions": updates });
        client.answer(&request_frame, deny).await;
        client.next_of_type("result").await;
        client.request(json!({ "subtype": "set_permission_mode", "mode": "bypassPermissions" })).await;
        client.prompt("go again").await;
        client.next_of_type("result").await;
        client.close().await;
        assert_eq!(test_host.fixture.file("a.txt").is_some(), runs, "{updates:?}");
    }
}

#[tokio::test]
async fn ask_rules_apply_even_in_bypass_mode() {
    let test_host = ClaudeTestHost::new(scenario().script(WRITES));
    let mut client = ClaudeTestClient::initialized(&test_host, &STDIO, json!({})).await;
    client.prompt("go").await;
    let request_frame = client.next_request("can_use_tool").await;
    let rule = json!({ "type": "addRules", "behavior": "ask", "rules": [{ "toolName": "Write" }] });
    client.answer(&request_frame, json!({ "behavior": "deny", "message": "no", "updatedPermissions": [rule] })).await;
    client.next_of_type("result").await;
    client.request(json!({ "subtype": "set_permission_mode", "mode": "bypassPermissions" })).await;
    client.prompt("go again").await;
    let request_frame = client.next_request("can_use_tool").await;
    client.answer(&request_frame, json!({ "behavior": "deny", "message": "no" })).await;
    client.next_of_type("result").await;
    client.close().await;
    assert_eq!(test_host.fixture.file("a.txt"), None);
}

/// Managed settings of the client are followed in full, or the session is refused.
#[tokio::test]
async fn managed_settings_are_followed_or_refused() {
    let no_bypass = r#"{"permissions":{"disableBypassPermissionsMode":"disable"}}"#;
    let refused: [(&[&str], Value); 6] = [
        (&["--managed-settings", r#"{"allowManagedHooksOnly":true}"#], json!({})),
        (&["--managed-settings", "{"], json!({})),
        (&["--managed-settings="], json!({})),
        (&["--managed-settings-in-initialize"], json!({})),
        (&[], json!({ "managedSettings": { "sandbox": { "enabled": true } } })),
        (&["--managed-settings", no_bypass, "--permission-mode=bypassPermissions"], json!({})),
    ];
    for (args, initialize) in refused {
        let test_host = ClaudeTestHost::new(scenario().script(SCRIPT));
        let mut client = ClaudeTestClient::initialized(&test_host, args, initialize).await;
        client.prompt("go").await;
        assert_eq!(client.next_of_type("result").await["is_error"], true, "{args:?}");
        assert_eq!(client.close().await.1, bosun_adapters::AdapterExit::Failed);
        assert!(test_host.opened_with.lock().unwrap().is_empty(), "{args:?}");
    }
    let test_host = ClaudeTestHost::new(scenario().script(SCRIPT));
    let initialize = json!({ "managedSettings": { "permissions": { "deny": ["Bash(touch *)"], "ask": ["Read"] } } });
    let mut client = ClaudeTestClient::initialized(&test_host, &["--managed-settings", no_bypass], initialize).await;
    let bypass = client.request(json!({ "subtype": "set_permission_mode", "mode": "bypassPermissions" })).await;
    assert_eq!(bypass["subtype"], "error");
    client.close().await;
    let options = test_host.opened_with.lock().unwrap()[0].clone();
    assert_eq!((options.deny, options.ask), (vec!["shell(touch *)".to_owned()], vec!["read".to_owned()]));
}

#[tokio::test]
async fn required_sandboxes_and_invalid_rules_refuse_the_session() {
    let settings = [
        r#"{"sandbox":{"enabled":true,"failIfUnavailable":true}}"#,
        r#"{"sandbox":{"enabled":true,"allowUnsandboxedCommands":false}}"#,
        r#"{"permissions":{"deny":[" "]}}"#,
    ];
    for settings in settings {
        let test_host = ClaudeTestHost::new(scenario().script(SCRIPT));
        let mut client = ClaudeTestClient::initialized(&test_host, &["--settings", settings], json!({})).await;
        client.prompt("go").await;
        assert_eq!(client.next_of_type("result").await["is_error"], true, "{settings}");
        client.close().await;
    }
}
