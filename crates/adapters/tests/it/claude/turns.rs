//! Turns: the frames that a client receives for its messages.

use protocol::PermissionMode;
use serde_json::json;
use testkit::session::scenario;

use super::visit::{ClaudeTestClient, ClaudeTestHost, kinds};

const SCRIPT: &str = "
version: 1
price: { input: 3, output: 15 }
rules:
  - when: { prompt: look, turn: 1 }
    answer:
      - say: I look.
      - call: { tool: view, input: { path: a.txt } }
      - call: { tool: glob, input: { pattern: '*.txt' } }
    usage: { input: 100, output: 10 }
  - when: { answered: { tool: view } }
    answer: [ { say: I have seen it. } ]
    usage: { input: 200, output: 20 }
  - when: { prompt: slow }
    answer:
      - say: I begin.
      - hang: true
  - when: { prompt: fail }
    fail: { class: terminal, message: no credit }
  - answer:
      - say: 'You said: ${prompt}'
    usage: { input: 10, output: 5 }
";

#[tokio::test]
async fn turn_is_sent_block_by_block_and_ends_with_a_result() {
    let test_host = ClaudeTestHost::new(scenario().script(SCRIPT).file("a.txt", "hello"));
    let mut client = ClaudeTestClient::initialized(&test_host, &[], json!({})).await;
    let initialize = client.received.last().unwrap()["response"]["response"].clone();
    assert_eq!(initialize["hook_on_failure_supported"], true);
    assert!(initialize["commands"].as_array().is_some_and(|commands| !commands.is_empty()));
    client.prompt("look").await;
    let result = client.next_of_type("result").await;
    let (seen, ended) = client.close().await;
    assert_eq!(
        kinds(&seen)[1..8],
        [
            "system init",
            "assistant text",
            "assistant tool_use",
            "assistant tool_use",
            "user tool_result",
            "user tool_result",
            "assistant text"
        ]
    );
    assert_eq!(
        (&seen[3]["message"]["content"][0]["name"], &seen[3]["message"]["content"][0]["input"]["file_path"]),
        (&json!("Read"), &json!("a.txt"))
    );
    assert_eq!(seen[2]["message"]["id"], seen[3]["message"]["id"]);
    assert_eq!((&result["subtype"], &result["result"]), (&json!("success"), &json!("I have seen it.")));
    assert_eq!((&result["num_turns"], &result["usage"]["input_tokens"]), (&json!(2), &json!(300)));
    assert_eq!(result["session_id"], seen[1]["session_id"]);
    assert_eq!(ended, bosun_adapters::AdapterExit::Success);
}

#[tokio::test]
async fn each_message_is_a_turn_and_costs_add_up() {
    let test_host = ClaudeTestHost::new(scenario().script(SCRIPT));
    let mut client = ClaudeTestClient::initialized(&test_host, &[], json!({})).await;
    for text in ["one", "two", "three"] {
        client.prompt(text).await;
    }
    let mut results = Vec::new();
    for _ in 0..3 {
        results.push(client.next_of_type("result").await);
    }
    let texts: Vec<_> = results.iter().map(|result| result["result"].as_str().unwrap().to_owned()).collect();
    assert_eq!(texts, ["You said: one", "You said: two", "You said: three"]);
    let model = |index: usize| results[index]["modelUsage"].as_object().unwrap().values().next().unwrap().clone();
    assert_eq!((&results[2]["usage"]["input_tokens"], &model(2)["inputTokens"]), (&json!(10), &json!(30)));
    assert!(results[2]["total_cost_usd"].as_f64() > results[0]["total_cost_usd"].as_f64());
    let (seen, _) = client.close().await;
    assert_eq!(kinds(&seen).iter().filter(|kind| *kind == "system init").count(), 3);
}

#[tokio::test]
async fn message_without_initialize_is_answered_after_input_is_closed() {
    let test_host = ClaudeTestHost::new(scenario().script(SCRIPT));
    let mut client = ClaudeTestClient::new(&test_host, &["--session-id=01900000-0000-7000-8000-000000000abc"]);
    client.prompt("hello").await;
    let (seen, ended) = client.close().await;
    let result = seen.iter().find(|frame| frame["type"] == "result").unwrap();
    assert_eq!(result["result"], "You said: hello");
    assert_eq!(result["session_id"], "01900000-0000-7000-8000-000000000abc");
    assert_eq!(ended, bosun_adapters::AdapterExit::Success);
}

#[tokio::test]
async fn text_is_streamed_on_request() {
    let test_host = ClaudeTestHost::new(scenario().script(SCRIPT).file("a.txt", "hello"));
    let mut client = ClaudeTestClient::initialized(&test_host, &["--include-partial-messages"], json!({})).await;
    client.prompt("look").await;
    client.next_of_type("result").await;
    let (seen, _) = client.close().await;
    let events: Vec<_> = seen.iter().filter(|frame| frame["type"] == "stream_event").collect();
    let count = |kind: &str| events.iter().filter(|frame| frame["event"]["type"] == kind).count();
    assert_eq!((count("message_start"), count("message_stop")), (2, 2));
    assert_eq!((count("content_block_start"), count("content_block_stop")), (4, 4));
    let text: String = events.iter().filter_map(|frame| frame["event"]["delta"]["text"].as_str()).collect();
    assert_eq!(text, "I look.I have seen it.");
}

#[tokio::test]
async fn interrupted_turn_is_reported_and_the_session_stays_usable() {
    let test_host = ClaudeTestHost::new(scenario().script(SCRIPT));
    let mut client = ClaudeTestClient::initialized(&test_host, &["--include-partial-messages"], json!({})).await;
    client.prompt("slow").await;
    client.next_matching(|frame| frame["event"]["delta"]["text"] == "I begin.").await;
    let answer = client.request(json!({ "subtype": "interrupt" })).await;
    assert_eq!(answer["subtype"], "success");
    let result = client.next_of_type("result").await;
    assert_eq!(
        (&result["subtype"], &result["terminal_reason"]),
        (&json!("error_during_execution"), &json!("aborted_streaming"))
    );
    client.prompt("again").await;
    assert_eq!(client.next_of_type("result").await["result"], "You said: again");
    let (_, ended) = client.close().await;
    assert_eq!(ended, bosun_adapters::AdapterExit::Success);
}

#[tokio::test]
async fn a_message_is_interrupted_before_it_is_read() {
    let test_host = ClaudeTestHost::new(scenario().script(SCRIPT));
    let initialize = json!({ "hooks": { "UserPromptSubmit": [{ "hookCallbackIds": ["hook_0"] }] } });
    let mut client = ClaudeTestClient::initialized(&test_host, &[], initialize).await;
    client.prompt("slow").await;
    let request_frame = client.next_request("hook_callback").await;
    assert_eq!(client.request(json!({ "subtype": "interrupt" })).await["subtype"], "success");
    client.answer(&request_frame, json!({})).await;
    assert_eq!(client.next_of_type("result").await["subtype"], "error_during_execution");
    client.prompt("again").await;
    let request_frame = client.next_request("hook_callback").await;
    client.answer(&request_frame, json!({})).await;
    assert_eq!(client.next_of_type("result").await["result"], "You said: again");
    client.close().await;
}

#[tokio::test]
async fn model_failure_is_reported_and_fails_the_process() {
    let test_host = ClaudeTestHost::new(scenario().script(SCRIPT));
    let mut client = ClaudeTestClient::initialized(&test_host, &[], json!({})).await;
    client.prompt("fail").await;
    let result = client.next_of_type("result").await;
    assert_eq!((&result["subtype"], &result["is_error"]), (&json!("success"), &json!(true)));
    assert!(result["result"].as_str().unwrap().contains("no credit"), "{result}");
    assert_eq!(client.close().await.1, bosun_adapters::AdapterExit::Failed);
}

#[tokio::test]
async fn unknown_session_is_an_error_on_the_first_message() {
    let test_host = ClaudeTestHost::new(scenario().script(SCRIPT));
    let mut client =
        ClaudeTestClient::initialized(&test_host, &["--resume=01900000-0000-7000-8000-000000000001"], json!({})).await;
    client.prompt("hello").await;
    let result = client.next_of_type("result").await;
    assert_eq!((&result["subtype"], &result["is_error"]), (&json!("error_during_execution"), &json!(true)));
    assert!(result["errors"][0].as_str().unwrap().contains("no session"), "{result}");
    assert_eq!(client.close().await.1, bosun_adapters::AdapterExit::Failed);
}

#[tokio::test]
async fn session_is_resumed_and_forked() {
    let test_host = ClaudeTestHost::new(scenario().script(SCRIPT));
    let mut client = ClaudeTestClient::initialized(&test_host, &[], json!({})).await;
    client.prompt("first").await;
    let id = client.next_of_type("result").await["session_id"].as_str().unwrap().to_owned();
    client.close().await;

    let mut resumed = ClaudeTestClient::initialized(&test_host, &[&format!("--resume={id}")], json!({})).await;
    resumed.prompt("second").await;
    assert_eq!(resumed.next_of_type("result").await["session_id"], *id);
    resumed.close().await;

    let fork = ["--resume", &id, "--fork-session", "--session-id=01900000-0000-7000-8000-00000000000f"];
    let mut fork = ClaudeTestClient::initialized(&test_host, &fork, json!({})).await;
    fork.prompt("third").await;
    let result = fork.next_of_type("result").await;
    assert_eq!(result["session_id"], "01900000-0000-7000-8000-00000000000f");
    fork.close().await;
    let requests = test_host.fixture.model("ses-01900000-0000-7000-8000-00000000000f".parse().unwrap()).requests();
    let last_request = format!("{:?}", requests.last().unwrap());
    assert!(
        last_request.contains("first") && last_request.contains("second") && last_request.contains("third"),
        "{last_request}"
    );
}

#[tokio::test]
async fn a_copy_of_a_running_session_answers_at_once() {
    let test_host = ClaudeTestHost::new(scenario().script(SCRIPT));
    let mut client = ClaudeTestClient::initialized(&test_host, &["--include-partial-messages"], json!({})).await;
    client.prompt("slow").await;
    let delta = client.next_matching(|frame| frame["event"]["delta"]["text"] == "I begin.").await;
    let id = delta["session_id"].as_str().unwrap();
    let mut copy = ClaudeTestClient::initialized(&test_host, &["--resume", id, "--fork-session"], json!({})).await;
    copy.prompt("hello").await;
    assert_eq!(copy.next_of_type("result").await["result"], "You said: hello");
    copy.close().await;
    client.disconnect().await;
}

#[tokio::test]
async fn mode_model_and_unknown_requests_are_answered() {
    let test_host = ClaudeTestHost::new(scenario().script(SCRIPT));
    let mut client = ClaudeTestClient::initialized(&test_host, &["--permission-mode", "acceptEdits"], json!({})).await;
    let answer = client.request(json!({ "subtype": "set_permission_mode", "mode": "plan" })).await;
    assert_eq!(answer["response"]["mode"], "plan");
    let status = client.next_of_type("system").await;
    assert_eq!((&status["subtype"], &status["permissionMode"]), (&json!("status"), &json!("plan")));
    let wrong = client.request(json!({ "subtype": "set_permission_mode", "mode": "sideways" })).await;
    assert_eq!(wrong["subtype"], "error");
    for same in [json!(null), json!("default")] {
        let same = client.request(json!({ "subtype": "set_model", "model": same })).await;
        assert_eq!(same["subtype"], "success");
    }
    let other = client.request(json!({ "subtype": "set_model", "model": "made-up" })).await;
    assert!(other["error"].as_str().unwrap().contains("the model `made-up`"), "{other}");
    let thinking = client.request(json!({ "subtype": "set_max_thinking_tokens", "max_thinking_tokens": 9 })).await;
    assert_eq!(thinking["subtype"], "success");
    let unknown = client.request(json!({ "subtype": "fly" })).await;
    assert_eq!(unknown["error"], "Unsupported control request subtype: fly");
    client.prompt("hello").await;
    let init = client.next_matching(|frame| frame["subtype"] == "init").await;
    assert_eq!(init["permissionMode"], "plan");
    client.next_of_type("result").await;
    client.close().await;
    assert_eq!(test_host.opened_with.lock().unwrap()[0].permission, Some(PermissionMode::AcceptEdits));
}

#[tokio::test]
async fn a_session_that_was_left_in_plan_mode_can_leave_it() {
    let test_host = ClaudeTestHost::new(scenario().script(SCRIPT));
    let mut client = ClaudeTestClient::initialized(&test_host, &[], json!({})).await;
    client.request(json!({ "subtype": "set_permission_mode", "mode": "plan" })).await;
    client.prompt("first").await;
    let id = client.next_of_type("result").await["session_id"].as_str().unwrap().to_owned();
    client.close().await;

    let mut resumed = ClaudeTestClient::initialized(&test_host, &["--resume", &id], json!({})).await;
    resumed.prompt("second").await;
    assert_eq!(resumed.next_matching(|frame| frame["subtype"] == "init").await["permissionMode"], "plan");
    resumed.next_of_type("result").await;
    resumed.request(json!({ "subtype": "set_permission_mode", "mode": "acceptEdits" })).await;
    resumed.prompt("third").await;
    let result = resumed.next_of_type("result").await;
    assert!(result["result"].as_str().unwrap().contains("interactive again"), "{result}");
    resumed.request(json!({ "subtype": "set_permission_mode", "mode": "plan" })).await;
    resumed.close().await;

    let mut other =
        ClaudeTestClient::initialized(&test_host, &["--resume", &id, "--permission-mode=acceptEdits"], json!({})).await;
    other.prompt("fourth").await;
    assert_eq!(other.next_matching(|frame| frame["subtype"] == "init").await["permissionMode"], "acceptEdits");
    let result = other.next_of_type("result").await;
    assert!(!result["result"].as_str().unwrap().contains("is in plan mode"), "{result}");
    other.close().await;
}

#[tokio::test]
async fn slash_commands_run_and_are_listed() {
    let test_host = ClaudeTestHost::new(scenario().script(SCRIPT));
    let mut client = ClaudeTestClient::initialized(&test_host, &[], json!({})).await;
    client.prompt("/tasks").await;
    let result = client.next_of_type("result").await;
    assert_eq!((&result["subtype"], &result["num_turns"]), (&json!("success"), &json!(0)));
    client.prompt("/nosuchthing at all").await;
    assert_eq!(client.next_of_type("result").await["result"], "You said: /nosuchthing at all");
    client.close().await;
}

/// A client that marks who wrote a message finds that in the result.
#[tokio::test]
async fn results_have_the_origin_of_their_message() {
    let test_host = ClaudeTestHost::new(scenario().script(SCRIPT));
    let mut client = ClaudeTestClient::initialized(&test_host, &[], json!({})).await;
    let message = json!({ "role": "user", "content": "one" });
    client.send(json!({ "type": "user", "message": message, "origin": { "kind": "human" } })).await;
    assert_eq!(client.next_of_type("result").await["origin"], json!({ "kind": "human" }));
    client.prompt("two").await;
    assert_eq!(client.next_of_type("result").await.get("origin"), None);
    client.send(json!({ "type": "user", "message": { "content": "/tasks" }, "origin": { "kind": "human" } })).await;
    assert_eq!(client.next_of_type("result").await["origin"], json!({ "kind": "human" }));
    client.close().await;
}

/// `/clear` ends the session, and the client's next messages are for another one with the same extensions.
#[tokio::test]
async fn a_cleared_conversation_is_followed_by_another_session() {
    let test_host = ClaudeTestHost::new(scenario().script(SCRIPT));
    let hooks = json!({ "hooks": { "UserPromptSubmit": [{ "hookCallbackIds": ["hook_0"] }] } });
    let mut client = ClaudeTestClient::initialized(&test_host, &[], hooks).await;
    client.request(json!({ "subtype": "set_permission_mode", "mode": "acceptEdits" })).await;
    client.prompt("one").await;
    let hook = client.next_request("hook_callback").await;
    client.answer(&hook, json!({})).await;
    let first = client.next_of_type("result").await["session_id"].clone();

    let message = json!({ "role": "user", "content": "/clear" });
    let uuid = "01900000-0000-7000-8000-000000000123";
    client.send(json!({ "type": "user", "message": message, "uuid": uuid })).await;
    client.prompt("two").await;
    let reset = client.next_of_type("conversation_reset").await;
    assert_eq!((&reset["session_id"], &reset["user_message_uuid"]), (&first, &json!(uuid)));
    let second = reset["new_conversation_id"].clone();
    assert_ne!(first, second);
    let init = client.next_matching(|frame| frame["subtype"] == "init").await;
    assert_eq!((&init["session_id"], &init["permissionMode"]), (&second, &json!("acceptEdits")));
    let cleared = client.next_of_type("result").await;
    assert_eq!((&cleared["session_id"], &cleared["subtype"]), (&second, &json!("success")));

    let hook = client.next_request("hook_callback").await;
    assert_eq!(hook["request"]["input"]["session_id"], second);
    client.answer(&hook, json!({})).await;
    let result = client.next_of_type("result").await;
    assert_eq!((&result["session_id"], &result["result"]), (&second, &json!("You said: two")));
    let (_, ended) = client.close().await;
    assert_eq!(ended, bosun_adapters::AdapterExit::Success);
    let id = bosun_adapters::session_id(second.as_str().unwrap()).unwrap();
    let requests = test_host.fixture.model(id).requests();
    assert!(!format!("{:?}", requests[0].messages).contains("one"), "{requests:?}");
}

#[tokio::test]
async fn a_conversation_can_be_cleared_before_it_begins_and_after_the_input_ends() {
    let test_host = ClaudeTestHost::new(scenario().script(SCRIPT));
    let mut client = ClaudeTestClient::new(&test_host, &[]);
    client.prompt("/clear").await;
    client.prompt("hello").await;
    let (seen, ended) = client.close().await;
    let results: Vec<_> = seen.iter().filter(|frame| frame["type"] == "result").collect();
    assert_eq!((results.len(), &results[1]["result"]), (2, &json!("You said: hello")));
    assert_eq!(ended, bosun_adapters::AdapterExit::Success);
}
