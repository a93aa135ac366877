//! Servers that misbehave while they are used. Each fault has one outcome, and the server can be used after it.

use std::time::{Duration, Instant};

use bosun_mcp::McpServerSettings;
use net::Secret;
use protocol::ToolResultStatus;
use serde_json::{Value, json};
use testkit::mcp::ScriptedMcpProgram;
use testkit::session::scenario;
use tools::ToolCatalog;

use crate::servers::{program, run_calls, servers, test_guardian, url};

/// The answer to [`add`].
const SUM: &str = "the sum is 2";

/// A call that works.
fn add() -> (&'static str, Value) {
    ("mcp__calc__add", json!({ "a": 1, "b": 1 }))
}

/// Calls a tool that misbehaves, then another one, of a server with these further options; returns the text of the
/// first call, and how often the program was started.
async fn misbehave(tool: &str, mut options: Value, change: fn(&mut McpServerSettings)) -> (String, usize) {
    options["faults"] = json!(true);
    let server = ScriptedMcpProgram::new(options);
    let mut settings = program(&server);
    change(&mut settings);
    let tool = format!("mcp__calc__{tool}");
    let calls = [(tool.as_str(), json!({})), add()];
    let (_run, answers) = run_calls(servers(settings), &calls).await;
    assert_eq!(answers[1].text, SUM, "{tool}");
    (answers[0].text.clone(), server.pids().len())
}

fn unchanged(_settings: &mut McpServerSettings) {}

#[tokio::test]
async fn endless_garbage_ends_the_connection() {
    let (text, starts) = misbehave("garbage", json!({}), unchanged).await;
    assert!(text.contains("it wrote over 1000 lines that are not messages"), "{text}");
    assert_eq!(starts, 2);
}

#[tokio::test]
async fn messages_that_need_too_much_memory_are_not_read() {
    for (tool, expected) in [
        ("wide", "it sent a message of more than 250000 values"),
        ("deep", "it sent a message with too many levels"),
        ("huge", "it sent a message of more than 16777216 bytes"),
    ] {
        let (text, starts) = misbehave(tool, json!({}), unchanged).await;
        assert!(text.contains(expected), "{tool}: {text}");
        assert_eq!(starts, 2, "{tool}");
        let served = ScriptedMcpProgram::new(json!({ "faults": true })).serve();
        let tool = format!("mcp__calc__{tool}");
        let calls = [(tool.as_str(), json!({})), add()];
        let (_run, answers) = run_calls(servers(url(&served, Vec::new())), &calls).await;
        assert!(answers[0].text.contains("cannot be reached: "), "{tool}: {}", answers[0].text);
        assert_eq!(answers[1].text, SUM, "{tool}");
    }
}

#[tokio::test]
async fn answers_that_come_too_late_or_twice_are_not_mistaken_for_others() {
    let short = |settings: &mut McpServerSettings| settings.call_timeout = Duration::from_secs(1);
    for revision in ["session", "stateless"] {
        let (text, starts) = misbehave("late", json!({ "revision": revision }), short).await;
        assert!(text.contains("did not answer `tools/call` within 1 s"), "{text}");
        assert_eq!(starts, 1);
        let (text, starts) = misbehave("twice", json!({ "revision": revision }), unchanged).await;
        assert_eq!((text.as_str(), starts), ("first", 1));
    }
}

#[tokio::test]
async fn server_that_asks_without_end_gets_a_limited_number_of_answers() {
    let session = || json!({ "revision": "session" });
    assert_eq!(misbehave("flood", session(), unchanged).await, ("flooded".into(), 1));
    let (text, starts) = misbehave("form", json!({ "revision": "stateless" }), unchanged).await;
    assert!(text.contains("it asked 1000 questions at once; at most 16 are allowed"), "{text}");
    assert_eq!(starts, 1);
}

#[tokio::test]
async fn list_that_never_comes_delays_every_caller_once() {
    let server = ScriptedMcpProgram::new(json!({ "faults": true, "revision": "session" }));
    // Long enough for the first list on a busy machine.
    let settings = McpServerSettings { start_timeout: Duration::from_secs(5), ..program(&server) };
    let (_run, answers) = run_calls(servers(settings), &[("mcp__calc__stop_listing", json!({})), add()]).await;
    assert_eq!(answers[0].text, "done");
    assert!(answers[1].text.contains("within 5 s"), "{}", answers[1].text);
    // Twenty agents that search at the same time wait for the same answer.
    let server = ScriptedMcpProgram::new(json!({ "page": 3600 }));
    let settings = McpServerSettings { start_timeout: Duration::from_secs(1), ..program(&server) };
    let (servers, guardian, began) = (servers(settings), test_guardian(), Instant::now());
    let lists = futures_util::future::join_all((0..20).map(|_agent| servers.list("calc", &guardian))).await;
    assert!(lists.iter().all(|list| list.problems.len() == 1 && list.tools.is_empty()), "{lists:?}");
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
}

#[tokio::test]
async fn start_includes_every_page_of_the_list() {
    let server = ScriptedMcpProgram::new(json!({ "page": 0.4 }));
    let settings = McpServerSettings { start_timeout: Duration::from_secs(2), ..program(&server) };
    let began = Instant::now();
    let error = servers(settings).check("calc", &test_guardian()).await.unwrap().unwrap_err();
    assert!(error.contains("did not start and list its tools within 2 s"), "{error}");
    assert!(began.elapsed() < Duration::from_secs(6), "{:?}", began.elapsed());
}

#[tokio::test]
async fn credentials_that_are_refused_in_mid_session_are_named() {
    for revision in ["session", "stateless"] {
        let calls = [add(), ("mcp__calc__revoke", json!({})), add()];
        let header = vec![("Authorization".to_owned(), Secret::new("Bearer t1"))];
        for (headers, why) in [(header, "Bearer realm"), (Vec::new(), "run `bosun mcp login calc`")] {
            let served = ScriptedMcpProgram::new(json!({ "faults": true, "revision": revision })).serve();
            let (_run, answers) = run_calls(servers(url(&served, headers)), &calls).await;
            assert_eq!((answers[0].text.as_str(), answers[1].text.as_str()), (SUM, "done"));
            assert_eq!(answers[2].status, ToolResultStatus::Refused);
            assert!(answers[2].text.contains(why), "{}", answers[2].text);
        }
    }
}

#[tokio::test]
async fn session_that_the_server_forgot_begins_again() {
    let refusal = r#"{ "jsonrpc": "2.0", "id": null, "error": { "code": -32000, "message": "No valid session ID" } }"#;
    for options in [
        json!({ "faults": true, "revision": "session" }),
        json!({ "faults": true, "revision": "session", "sessionless": refusal }),
    ] {
        let served = ScriptedMcpProgram::new(options).serve();
        let calls = [("mcp__calc__forget", json!({})), add(), add()];
        let (_run, answers) = run_calls(servers(url(&served, Vec::new())), &calls).await;
        // A server that knows no session has not read the call, which is made in a new one.
        assert_eq!((answers[1].text.as_str(), answers[2].text.as_str()), (SUM, SUM));
        assert_eq!(served.program().heard("initialize").len(), 2);
    }
}

/// Servers refuse what they do not know in their own ways: with an id that they made up, or with a page.
#[tokio::test]
async fn server_that_refuses_the_newest_revision_in_any_way_is_used_in_the_older_form() {
    let invented =
        r#"{ "jsonrpc": "2.0", "id": "server-error", "error": { "code": -32600, "message": "no session" } }"#;
    for page in [invented, "<html>Unprocessable</html>", "", "{}"] {
        let served = ScriptedMcpProgram::new(json!({ "revision": "session", "unknown": page })).serve();
        let (_run, answers) = run_calls(servers(url(&served, Vec::new())), &[add()]).await;
        assert_eq!(answers[0].text, SUM, "{page}");
    }
}

/// The description of a tool is text for the model, and nothing that it demands happens by itself.
#[tokio::test]
async fn instructions_in_a_description_give_no_permission() {
    let server = ScriptedMcpProgram::new(json!({}));
    let script = r#"{ "version": 1, "about": "Obeys", "rules": [
        { "when": { "turn": 1 }, "answer": [{ "call": { "id": "c0", "tool": "tool_search", "input": { "query": "mcp__calc__view" } } }] },
        { "when": { "turn": 2 }, "answer": [{ "call": { "id": "c1", "tool": "shell", "input": { "command": "touch obeyed" } } },
                                            { "call": { "id": "c2", "tool": "mcp__calc__view", "input": { "path": "x" } } }] },
        { "answer": [{ "say": "done" }] }] }"#;
    let catalog = servers(program(&server));
    let run = scenario().script(script).tool_catalog(catalog).prompt("go").run().await;
    let transcript = run.transcript();
    assert!(
        !transcript.contains("not a file"),
        "the tool has the name of one of ours, and not its permission: {transcript}"
    );
    assert!(run.file("obeyed").is_none(), "{transcript}");
    assert!(server.heard("tools/call").is_empty(), "{transcript}");
}
