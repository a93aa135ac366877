//! Turns: what a client gets for its messages.

use serde_json::json;
use testkit::session::scenario;

use super::visit::{Inn, Visit, kinds};

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
async fn a_turn_is_told_block_by_block_and_ends_with_a_result() {
    let inn = Inn::new(scenario().script(SCRIPT).file("a.txt", "hello"));
    let mut visit = Visit::greeted(&inn, &[], json!({})).await;
    let hello = visit.seen.last().unwrap()["response"]["response"].clone();
    assert_eq!(hello["hook_on_failure_supported"], true);
    assert!(hello["commands"].as_array().is_some_and(|commands| !commands.is_empty()));
    visit.prompt("look").await;
    let result = visit.until_type("result").await;
    let (seen, ended) = visit.close().await;
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
async fn several_messages_are_several_turns_and_costs_add_up() {
    let inn = Inn::new(scenario().script(SCRIPT));
    let mut visit = Visit::greeted(&inn, &[], json!({})).await;
    for text in ["one", "two", "three"] {
        visit.prompt(text).await;
    }
    let mut results = Vec::new();
    for _ in 0..3 {
        results.push(visit.until_type("result").await);
    }
    let said: Vec<_> = results.iter().map(|result| result["result"].as_str().unwrap().to_owned()).collect();
    assert_eq!(said, ["You said: one", "You said: two", "You said: three"]);
    let model = |at: usize| results[at]["modelUsage"].as_object().unwrap().values().next().unwrap().clone();
    assert_eq!((&results[2]["usage"]["input_tokens"], &model(2)["inputTokens"]), (&json!(10), &json!(30)));
    assert!(results[2]["total_cost_usd"].as_f64() > results[0]["total_cost_usd"].as_f64());
    let (seen, _) = visit.close().await;
    assert_eq!(kinds(&seen).iter().filter(|kind| *kind == "system init").count(), 3);
}

#[tokio::test]
async fn a_message_without_a_greeting_and_with_a_closed_side_is_answered_all_the_same() {
    let inn = Inn::new(scenario().script(SCRIPT));
    let mut visit = Visit::new(&inn, &["--session-id=01900000-0000-7000-8000-000000000abc"]);
    visit.prompt("hello").await;
    let (seen, ended) = visit.close().await;
    let result = seen.iter().find(|frame| frame["type"] == "result").unwrap();
    assert_eq!(result["result"], "You said: hello");
    assert_eq!(result["session_id"], "01900000-0000-7000-8000-000000000abc");
    assert_eq!(ended, bosun_adapters::AdapterExit::Success);
}

#[tokio::test]
async fn words_come_as_they_are_said_when_they_are_wanted() {
    let inn = Inn::new(scenario().script(SCRIPT).file("a.txt", "hello"));
    let mut visit = Visit::greeted(&inn, &["--include-partial-messages"], json!({})).await;
    visit.prompt("look").await;
    visit.until_type("result").await;
    let (seen, _) = visit.close().await;
    let events: Vec<_> = seen.iter().filter(|frame| frame["type"] == "stream_event").collect();
    let count = |kind: &str| events.iter().filter(|frame| frame["event"]["type"] == kind).count();
    assert_eq!((count("message_start"), count("message_stop")), (2, 2));
    assert_eq!((count("content_block_start"), count("content_block_stop")), (4, 4));
    let text: String = events.iter().filter_map(|frame| frame["event"]["delta"]["text"].as_str()).collect();
    assert_eq!(text, "I look.I have seen it.");
}

#[tokio::test]
async fn an_interrupted_turn_says_so_and_the_session_can_be_used_again() {
    let inn = Inn::new(scenario().script(SCRIPT));
    let mut visit = Visit::greeted(&inn, &["--include-partial-messages"], json!({})).await;
    visit.prompt("slow").await;
    visit.until(|frame| frame["event"]["delta"]["text"] == "I begin.").await;
    let answer = visit.request(json!({ "subtype": "interrupt" })).await;
    assert_eq!(answer["subtype"], "success");
    let result = visit.until_type("result").await;
    assert_eq!(
        (&result["subtype"], &result["terminal_reason"]),
        (&json!("error_during_execution"), &json!("aborted_streaming"))
    );
    visit.prompt("again").await;
    assert_eq!(visit.until_type("result").await["result"], "You said: again");
    let (_, ended) = visit.close().await;
    assert_eq!(ended, bosun_adapters::AdapterExit::Success);
}

#[tokio::test]
async fn a_message_is_interrupted_before_it_is_read() {
    let inn = Inn::new(scenario().script(SCRIPT));
    let hello = json!({ "hooks": { "UserPromptSubmit": [{ "hookCallbackIds": ["hook_0"] }] } });
    let mut visit = Visit::greeted(&inn, &[], hello).await;
    visit.prompt("slow").await;
    let asked = visit.asked("hook_callback").await;
    assert_eq!(visit.request(json!({ "subtype": "interrupt" })).await["subtype"], "success");
    visit.answer(&asked, json!({})).await;
    assert_eq!(visit.until_type("result").await["subtype"], "error_during_execution");
    visit.prompt("again").await;
    let asked = visit.asked("hook_callback").await;
    visit.answer(&asked, json!({})).await;
    assert_eq!(visit.until_type("result").await["result"], "You said: again");
    visit.close().await;
}

#[tokio::test]
async fn a_model_that_fails_is_told_and_is_the_exit_code() {
    let inn = Inn::new(scenario().script(SCRIPT));
    let mut visit = Visit::greeted(&inn, &[], json!({})).await;
    visit.prompt("fail").await;
    let result = visit.until_type("result").await;
    assert_eq!((&result["subtype"], &result["is_error"]), (&json!("success"), &json!(true)));
    assert!(result["result"].as_str().unwrap().contains("no credit"), "{result}");
    assert_eq!(visit.close().await.1, bosun_adapters::AdapterExit::Failed);
}

#[tokio::test]
async fn a_session_that_is_not_there_is_an_error_with_the_first_message() {
    let inn = Inn::new(scenario().script(SCRIPT));
    let mut visit = Visit::greeted(&inn, &["--resume=01900000-0000-7000-8000-000000000001"], json!({})).await;
    visit.prompt("hello").await;
    let result = visit.until_type("result").await;
    assert_eq!((&result["subtype"], &result["is_error"]), (&json!("error_during_execution"), &json!(true)));
    assert!(result["errors"][0].as_str().unwrap().contains("no session"), "{result}");
    assert_eq!(visit.close().await.1, bosun_adapters::AdapterExit::Failed);
}

#[tokio::test]
async fn a_session_is_gone_on_with_and_copied() {
    let inn = Inn::new(scenario().script(SCRIPT));
    let mut visit = Visit::greeted(&inn, &[], json!({})).await;
    visit.prompt("first").await;
    let id = visit.until_type("result").await["session_id"].as_str().unwrap().to_owned();
    visit.close().await;

    let mut again = Visit::greeted(&inn, &[&format!("--resume={id}")], json!({})).await;
    again.prompt("second").await;
    assert_eq!(again.until_type("result").await["session_id"], *id);
    again.close().await;

    let fork = ["--resume", &id, "--fork-session", "--session-id=01900000-0000-7000-8000-00000000000f"];
    let mut fork = Visit::greeted(&inn, &fork, json!({})).await;
    fork.prompt("third").await;
    let result = fork.until_type("result").await;
    assert_eq!(result["session_id"], "01900000-0000-7000-8000-00000000000f");
    fork.close().await;
    let asked = inn.stage.model("ses-01900000-0000-7000-8000-00000000000f".parse().unwrap()).requests();
    let told = format!("{:?}", asked.last().unwrap());
    assert!(told.contains("first") && told.contains("second") && told.contains("third"), "{told}");
}

#[tokio::test]
async fn a_copy_of_a_running_session_answers_at_once() {
    let inn = Inn::new(scenario().script(SCRIPT));
    let mut visit = Visit::greeted(&inn, &["--include-partial-messages"], json!({})).await;
    visit.prompt("slow").await;
    let begun = visit.until(|frame| frame["event"]["delta"]["text"] == "I begin.").await;
    let id = begun["session_id"].as_str().unwrap();
    let mut copy = Visit::greeted(&inn, &["--resume", id, "--fork-session"], json!({})).await;
    copy.prompt("hello").await;
    assert_eq!(copy.until_type("result").await["result"], "You said: hello");
    copy.close().await;
    visit.die().await;
}

#[tokio::test]
async fn modes_models_and_what_is_not_known_are_answered() {
    let inn = Inn::new(scenario().script(SCRIPT));
    let mut visit = Visit::greeted(&inn, &["--permission-mode", "acceptEdits"], json!({})).await;
    let answer = visit.request(json!({ "subtype": "set_permission_mode", "mode": "plan" })).await;
    assert_eq!(answer["response"]["mode"], "plan");
    let status = visit.until_type("system").await;
    assert_eq!((&status["subtype"], &status["permissionMode"]), (&json!("status"), &json!("plan")));
    let wrong = visit.request(json!({ "subtype": "set_permission_mode", "mode": "sideways" })).await;
    assert_eq!(wrong["subtype"], "error");
    let same = visit.request(json!({ "subtype": "set_model", "model": "sonnet" })).await;
    assert_eq!(same["subtype"], "success");
    let unknown = visit.request(json!({ "subtype": "fly" })).await;
    assert_eq!(unknown["error"], "Unsupported control request subtype: fly");
    visit.prompt("hello").await;
    let init = visit.until(|frame| frame["subtype"] == "init").await;
    assert_eq!(init["permissionMode"], "plan");
    visit.until_type("result").await;
    visit.close().await;
    assert!(inn.orders.lock().unwrap()[0].contains(&"--permission-mode=accept-edits".to_owned()));
}

#[tokio::test]
async fn a_session_that_was_left_in_plan_mode_can_leave_it() {
    let inn = Inn::new(scenario().script(SCRIPT));
    let mut visit = Visit::greeted(&inn, &[], json!({})).await;
    visit.request(json!({ "subtype": "set_permission_mode", "mode": "plan" })).await;
    visit.prompt("first").await;
    let id = visit.until_type("result").await["session_id"].as_str().unwrap().to_owned();
    visit.close().await;

    let mut again = Visit::greeted(&inn, &["--resume", &id], json!({})).await;
    again.prompt("second").await;
    assert_eq!(again.until(|frame| frame["subtype"] == "init").await["permissionMode"], "plan");
    again.until_type("result").await;
    again.request(json!({ "subtype": "set_permission_mode", "mode": "acceptEdits" })).await;
    again.prompt("third").await;
    let result = again.until_type("result").await;
    assert!(result["result"].as_str().unwrap().contains("interactive again"), "{result}");
    again.request(json!({ "subtype": "set_permission_mode", "mode": "plan" })).await;
    again.close().await;

    let mut other = Visit::greeted(&inn, &["--resume", &id, "--permission-mode=acceptEdits"], json!({})).await;
    other.prompt("fourth").await;
    assert_eq!(other.until(|frame| frame["subtype"] == "init").await["permissionMode"], "acceptEdits");
    let result = other.until_type("result").await;
    assert!(!result["result"].as_str().unwrap().contains("is in plan mode"), "{result}");
    other.close().await;
}

#[tokio::test]
async fn slash_commands_run_and_are_listed() {
    let inn = Inn::new(scenario().script(SCRIPT));
    let mut visit = Visit::greeted(&inn, &[], json!({})).await;
    visit.prompt("/tasks").await;
    let result = visit.until_type("result").await;
    assert_eq!((&result["subtype"], &result["num_turns"]), (&json!("success"), &json!(0)));
    visit.prompt("/nosuchthing at all").await;
    assert_eq!(visit.until_type("result").await["result"], "You said: /nosuchthing at all");
    visit.close().await;
}
