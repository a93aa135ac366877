//! Requests that read or change a running session, and messages that are no answers.

use std::sync::Arc;

use serde_json::{Value, json};
use testkit::session::scenario;

use super::visit::{ClaudeTestClient, ClaudeTestHost};

const SCRIPT: &str = "
version: 1
rules:
  - when: { agent: prompt-suggestion }
    answer: [ { say: run the tests } ]
  - when: { prompt: write, answered: { tool: create } }
    answer: [ { say: Written. } ]
  - when: { prompt: write }
    answer:
      - call: { tool: create, input: { path: a.txt, content: one } }
  - answer: [ { say: 'You said: ${prompt}' } ]
";

fn host() -> Arc<ClaudeTestHost> {
    ClaudeTestHost::new(scenario().script(SCRIPT))
}

async fn turn(client: &mut ClaudeTestClient, prompt: &str) -> Value {
    client.prompt(prompt).await;
    client.next_of_type("result").await
}

#[tokio::test]
async fn the_parts_of_the_context_are_reported() {
    let mut client = ClaudeTestClient::initialized(&host(), &[], json!({})).await;
    turn(&mut client, "hello").await;
    let usage = client.request(json!({ "subtype": "get_context_usage" })).await["response"].clone();
    let used = usage["categories"].as_array().unwrap().iter().filter(|row| row["kind"] == "used");
    let sum: u64 = used.map(|row| row["tokens"].as_u64().unwrap()).sum();
    assert_eq!(usage["totalTokens"], sum, "{usage}");
    for key in ["maxTokens", "rawMaxTokens", "percentage"] {
        assert!(usage[key].is_u64(), "{key}: {usage}");
    }
    let tools = usage["systemTools"].as_array().unwrap();
    assert!(tools.iter().any(|tool| tool["tokens"].as_u64() > Some(0)), "{usage}");
    assert!(usage["gridRows"].is_array() && usage["agents"].is_array() && usage["isAutoCompactEnabled"] == true);
    client.close().await;
}

#[tokio::test]
async fn usage_cost_and_models_are_reported() {
    let mut client = ClaudeTestClient::initialized(&host(), &[], json!({})).await;
    let result = turn(&mut client, "hello").await;
    let usage = client.request(json!({ "subtype": "get_usage" })).await["response"].clone();
    assert_eq!(usage["session"]["model_usage"], result["modelUsage"]);
    assert_eq!((&usage["rate_limits_available"], &usage["rate_limits"]), (&json!(false), &Value::Null));
    let cost = client.request(json!({ "subtype": "get_session_cost" })).await["response"].clone();
    assert!(cost["text"].as_str().unwrap().contains("turn"), "{cost}");
    let models = client.request(json!({ "subtype": "list_models" })).await["response"].clone();
    assert_eq!(models["models"][0]["value"], "default");
    client.close().await;
}

#[tokio::test]
async fn a_session_has_the_title_that_its_client_gives_it() {
    let test_host = host();
    let mut client = ClaudeTestClient::initialized(&test_host, &[], json!({ "title": "A first title" })).await;
    let id = turn(&mut client, "hello").await["session_id"].as_str().unwrap().to_owned();
    let title = || {
        let session = bosun_adapters::session_id(&id).unwrap();
        client::SessionHandle::new(test_host.fixture.home(), session).view().unwrap().title
    };
    assert_eq!(title(), "A first title");
    let renamed = client.request(json!({ "subtype": "rename_session", "title": " A second\ntitle " })).await;
    assert_eq!((renamed["subtype"].as_str(), title().as_str()), (Some("success"), "A second"));
    let empty = client.request(json!({ "subtype": "rename_session", "title": " " })).await;
    assert!(empty["error"].as_str().unwrap().contains("empty"), "{empty}");
    let other = json!({ "subtype": "rename_session", "title": "x", "session_id": "other" });
    assert!(client.request(other).await["error"].as_str().unwrap().contains("is not other"));
    client.close().await;
}

#[tokio::test]
async fn settings_change_while_the_session_runs() {
    let args = ["--permission-mode=bypassPermissions", "--settings={}"];
    let test_host = host();
    let mut client = ClaudeTestClient::initialized(&test_host, &args, json!({})).await;
    let apply = |settings: Value| json!({ "subtype": "apply_flag_settings", "settings": settings });
    let refused = client.request(apply(json!({ "permissions": { "deny": ["Write"] }, "env": {} }))).await;
    assert_eq!(refused["error"], "these settings cannot change while a session runs: `env`");
    assert_eq!(turn(&mut client, "write").await["result"], "Written.");
    std::fs::remove_file(test_host.fixture.path("a.txt")).unwrap();
    let applied = client.request(apply(json!({ "permissions": { "deny": ["Write"] }, "effortLevel": "high" }))).await;
    assert_eq!(applied["subtype"], "success", "{applied}");
    let result = turn(&mut client, "write").await;
    assert_eq!(result["permission_denials"][0]["tool_name"], "Write", "a deny rule applies in every mode");
    assert_eq!(test_host.fixture.file("a.txt"), None);
    let applied = client.request(apply(json!({ "permissions": { "defaultMode": "plan" } }))).await;
    assert_eq!(applied["subtype"], "success");
    let status = client.next_matching(|frame| frame["subtype"] == "status").await;
    assert_eq!(status["permissionMode"], "plan");
    for (subtype, why) in [("update_settings", "settings files"), ("reload_plugins", "when a session begins")] {
        let refused = client.request(json!({ "subtype": subtype, "settings": {} })).await;
        assert!(refused["error"].as_str().unwrap().contains(why), "{refused}");
    }
    client.close().await;
}

#[tokio::test]
async fn the_effort_changes_while_the_session_runs() {
    let test_host = host();
    let mut client = ClaudeTestClient::initialized(&test_host, &["--effort=medium"], json!({})).await;
    let id = turn(&mut client, "one").await["session_id"].as_str().unwrap().to_owned();
    for (tokens, prompt) in [(json!(32_000), "two"), (json!(1000), "three"), (Value::Null, "four")] {
        let request = json!({ "subtype": "set_max_thinking_tokens", "max_thinking_tokens": tokens });
        assert_eq!(client.request(request).await["subtype"], "success");
        turn(&mut client, prompt).await;
    }
    let wrong = json!({ "subtype": "set_max_thinking_tokens", "max_thinking_tokens": "many" });
    assert!(client.request(wrong).await["error"].as_str().unwrap().contains("whole number"));
    client.close().await;
    let requests = test_host.fixture.model(bosun_adapters::session_id(&id).unwrap()).requests();
    let efforts: Vec<_> = requests.iter().skip(1).map(|request| request.effort).collect();
    use protocol::ReasoningEffort::{High, Low, Medium};
    assert_eq!(efforts, [Some(High), Some(Low), Some(Medium)]);
}

#[tokio::test]
async fn the_next_prompt_is_suggested_if_the_client_wants_that() {
    let test_host = host();
    let mut client = ClaudeTestClient::initialized(&test_host, &[], json!({ "promptSuggestions": true })).await;
    turn(&mut client, "hello").await;
    let suggestion = client.next_of_type("prompt_suggestion").await;
    assert_eq!((&suggestion["suggestion"], suggestion["uuid"].is_string()), (&json!("run the tests"), true));
    client.close().await;
    let mut client = ClaudeTestClient::initialized(&test_host, &[], json!({})).await;
    turn(&mut client, "hello").await;
    let (frames, _) = client.close().await;
    assert!(frames.iter().all(|frame| frame["type"] != "prompt_suggestion"), "it is off by default");
}

#[tokio::test]
async fn a_message_that_wants_no_answer_is_part_of_the_next_one() {
    let mut client = ClaudeTestClient::initialized(&host(), &[], json!({})).await;
    client.send(json!({ "type": "user", "message": { "content": "remember" }, "shouldQuery": false })).await;
    let result = turn(&mut client, "this").await;
    assert_eq!(result["result"], "You said: remember\n\nthis");
    assert_eq!(turn(&mut client, "that").await["result"], "You said: that");
    let (frames, _) = client.close().await;
    assert_eq!(frames.iter().filter(|frame| frame["type"] == "result").count(), 2);
}

#[tokio::test]
async fn calls_are_denied_instead_of_asked_about_if_the_settings_say_so() {
    let args = ["--permission-prompt-tool=stdio", "--settings", r#"{"permissions":{"denyInsteadOfPrompting":true}}"#];
    let test_host = host();
    let mut client = ClaudeTestClient::initialized(&test_host, &args, json!({})).await;
    let result = turn(&mut client, "write").await;
    assert_eq!(result["permission_denials"][0]["tool_name"], "Write");
    let (frames, _) = client.close().await;
    assert!(frames.iter().all(|frame| frame["request"]["subtype"] != "can_use_tool"));
}

#[tokio::test]
async fn hooks_of_the_settings_run() {
    let hooks = json!({ "hooks": { "PreToolUse": [{ "matcher": "Write", "hooks": [
        { "type": "command", "command": "echo house rules >&2; exit 2" },
    ] }] } });
    let args = ["--permission-mode=bypassPermissions".to_owned(), format!("--settings={hooks}")];
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let test_host = host();
    let mut client = ClaudeTestClient::initialized(&test_host, &args, json!({})).await;
    turn(&mut client, "write").await;
    let (frames, _) = client.close().await;
    assert!(frames.iter().any(|frame| frame.to_string().contains("house rules")), "{frames:#?}");
    assert_eq!(test_host.fixture.file("a.txt"), None);
}

#[tokio::test]
async fn calls_of_hooks_are_reported_if_the_client_wants_that() {
    let initialize = json!({ "hooks": { "PreToolUse": [{ "hookCallbackIds": ["hook_0"] }] } });
    let args = ["--include-hook-events", "--permission-mode=bypassPermissions"];
    let mut client = ClaudeTestClient::initialized(&host(), &args, initialize).await;
    client.prompt("write").await;
    let started = client.next_matching(|frame| frame["subtype"] == "hook_started").await;
    assert_eq!((&started["hook_event"], &started["hook_name"]), (&json!("PreToolUse"), &json!("PreToolUse:Write")));
    let request = client.next_request("hook_callback").await;
    client.answer(&request, json!({ "reason": "fine" })).await;
    let ended = client.next_matching(|frame| frame["subtype"] == "hook_response").await;
    assert_eq!((&ended["hook_id"], &ended["outcome"]), (&started["hook_id"], &json!("success")));
    assert_eq!(ended["output"], r#"{"reason":"fine"}"#);
    client.next_of_type("result").await;
    client.close().await;
}

#[tokio::test]
async fn two_clients_of_a_session_do_not_get_each_others_results() {
    let test_host = host();
    let mut first = ClaudeTestClient::initialized(&test_host, &[], json!({})).await;
    let id = turn(&mut first, "one").await["session_id"].as_str().unwrap().to_owned();
    let mut second = ClaudeTestClient::initialized(&test_host, &[&format!("--resume={id}")], json!({})).await;
    for round in 0..8 {
        for (client, name) in [(&mut first, "first"), (&mut second, "second")] {
            let prompt = format!("{name} {round}");
            assert_eq!(turn(client, &prompt).await["result"], format!("You said: {prompt}"));
        }
    }
    second.close().await;
    first.close().await;
}
