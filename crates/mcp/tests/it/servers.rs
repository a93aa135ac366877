//! Servers as programs and over HTTP, used by the agents of a session.

use std::sync::Arc;
use std::time::Duration;

use bosun_mcp::{McpAddress, McpProgram, McpRevision, McpServerSettings, McpServers, McpServersConfig};
use host::Guardian;
use net::Secret;
use protocol::{Event, RuleEffect, ToolResult, ToolResultStatus};
use serde_json::{Value, json};
use testkit::mcp::{ScriptedMcpProgram, ScriptedMcpUrl};
use testkit::session::{PlayedSession, guardian, scenario};
use tools::ToolCatalog;

pub(crate) fn settings(address: McpAddress) -> McpServerSettings {
    McpServerSettings {
        name: "calc".into(),
        address,
        start_timeout: Duration::from_secs(20),
        call_timeout: Duration::from_secs(20),
        task_timeout: Duration::from_secs(60),
        tools: None,
        denied_tools: Vec::new(),
    }
}

pub(crate) fn program(server: &ScriptedMcpProgram) -> McpServerSettings {
    let (command, args) = server.command();
    let env = vec![("OWN".to_owned(), Secret::new("1"))];
    settings(McpAddress::Program(McpProgram { command, args, env, cwd: server.folder(), pinned: Vec::new() }))
}

pub(crate) fn url(server: &ScriptedMcpUrl, headers: Vec<(String, Secret)>) -> McpServerSettings {
    settings(McpAddress::Url { url: server.url().to_owned(), headers })
}

pub(crate) fn servers(settings: McpServerSettings) -> Arc<McpServers> {
    let env = vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())];
    let roots = vec!["/work folder".into()];
    let config = McpServersConfig { servers: vec![settings], env, roots, ..McpServersConfig::default() };
    Arc::new(McpServers::new(config))
}

pub(crate) fn test_guardian() -> Guardian {
    Guardian::new(guardian())
}

/// Runs a session whose root makes these calls, one per turn; returns the answers.
pub(crate) async fn run_calls(servers: Arc<McpServers>, calls: &[(&str, Value)]) -> (PlayedSession, Vec<ToolResult>) {
    let mut rules: Vec<Value> = Vec::new();
    for (index, (tool, input)) in calls.iter().enumerate() {
        let call = json!({ "id": format!("c{index}"), "tool": tool, "input": input });
        rules.push(json!({ "when": { "turn": index + 1 }, "answer": [{ "call": call }] }));
    }
    rules.push(json!({ "answer": [{ "say": "done" }] }));
    let script = json!({ "version": 1, "about": "Calls tools", "rules": rules }).to_string();
    let run = scenario().script(&script).allow_all().tool_catalog(servers).prompt("go").run().await;
    let answers = (0..calls.len()).map(|index| answer(&run, &format!("c{index}"))).collect();
    (run, answers)
}

pub(crate) fn answer(run: &PlayedSession, wanted: &str) -> ToolResult {
    let mut answers = run.events().iter().filter_map(|envelope| match &envelope.entry.event {
        Event::CallAnswered { call, answer, .. } if call.0 == wanted => Some(answer.clone()),
        _other => None,
    });
    answers.next_back().unwrap_or_else(|| panic!("{wanted} has no answer: {}", run.transcript()))
}

#[tokio::test]
async fn tools_are_found_loaded_and_called_in_both_revisions_and_over_both_transports() {
    for revision in ["session", "stateless"] {
        let as_program = ScriptedMcpProgram::new(json!({ "revision": revision, "chatty": true }));
        let served = ScriptedMcpProgram::new(json!({ "revision": revision, "token": "t1" })).serve();
        let header = || vec![("Authorization".to_owned(), Secret::new("Bearer t1"))];
        for (settings, log) in [(program(&as_program), &as_program), (url(&served, header()), served.program())] {
            let calls = [
                ("tool_search", json!({ "query": "adds two numbers" })),
                ("mcp__calc__add", json!({ "a": 1, "b": 2 })),
                ("mcp__calc__add", json!({})),
                ("mcp__calc__task", json!({})),
                ("mcp__calc__view", json!({})),
                ("mcp__calc__gone", json!({})),
            ];
            let (run, answers) = run_calls(servers(settings), &calls).await;
            let texts: Vec<&str> = answers.iter().map(|answer| answer.text.as_str()).collect();
            assert!(texts[0].starts_with("loaded: mcp__calc__add"), "{revision}: {}", texts[0]);
            assert!(texts[0].contains("not loaded: ") && texts[0].contains("mcp__calc__view"), "{}", texts[0]);
            assert!(!texts[0].contains("broken"), "its schema is not valid: {}", texts[0]);
            assert_eq!(texts[1], "the sum is 3", "{revision}");
            assert!(texts[2].contains("a is missing"), "{}", texts[2]);
            assert_eq!(texts[3], "the task is done", "{revision}");
            assert_eq!(texts[4], "not a file");
            assert!(texts[5].contains("has no tool `mcp__calc__gone`"), "{}", texts[5]);
            assert_eq!(run.text(), "done");
            assert_eq!(log.pids().len(), 1, "one process serves all calls");
            let expected = if revision == "session" { 1 } else { 0 };
            assert_eq!(log.heard("initialize").len(), expected, "{revision}");
        }
    }
}

#[tokio::test]
async fn first_request_names_the_servers_and_requests_keep_their_beginning() {
    let server = ScriptedMcpProgram::new(json!({}));
    let calls = [
        ("tool_search", json!({ "query": "calc add" })),
        ("mcp__calc__grow", json!({})),
        ("tool_search", json!({ "query": "mcp__calc__grown" })),
        ("mcp__calc__grown", json!({})),
    ];
    // The model of the scenario checks that every request begins with the one before.
    let (run, answers) = run_calls(servers(program(&server)), &calls).await;
    assert_eq!(answers[2].text.lines().next(), Some("loaded: mcp__calc__grown; call them like any other tool"));
    assert_eq!(answers[3].text, "new");
    let loaded = run.events().iter().filter_map(|envelope| match &envelope.entry.event {
        Event::ToolsLoaded { descriptions, .. } => descriptions.iter().find(|tool| tool.name == "mcp__calc__grown"),
        _other => None,
    });
    assert_eq!(loaded.map(|tool| tool.description.as_str()).collect::<Vec<_>>(), ["Grew meanwhile."]);
}

#[tokio::test]
async fn server_is_not_started_until_it_is_needed() {
    let server = ScriptedMcpProgram::new(json!({}));
    let (_run, answers) =
        run_calls(servers(program(&server)), &[("tool_search", json!({ "query": "list_shells" }))]).await;
    assert_eq!(answers[0].text, "loaded: list_shells; call them like any other tool");
    assert_eq!(server.pids(), [0; 0]);
}

#[tokio::test]
async fn a_server_that_ends_is_started_again_for_the_next_call() {
    let server = ScriptedMcpProgram::new(json!({ "revision": "session" }));
    let calls = [("mcp__calc__crash", json!({})), ("mcp__calc__add", json!({ "a": 2, "b": 3 }))];
    let (_run, answers) = run_calls(servers(program(&server)), &calls).await;
    assert_eq!(answers[0].status, ToolResultStatus::Refused);
    assert!(answers[0].text.contains("cannot be reached"), "{}", answers[0].text);
    assert_eq!(answers[1].text, "the sum is 5");
    assert_eq!(server.pids().len(), 2);
}

#[tokio::test]
async fn agents_need_permission_for_tools_of_servers() {
    let server = ScriptedMcpProgram::new(json!({}));
    let script = r#"{ "version": 1, "about": "Calls", "rules": [
        { "when": { "turn": 1 }, "answer": [{ "call": { "id": "c0", "tool": "mcp__calc__add", "input": { "a": 1, "b": 1 } } }] },
        { "answer": [{ "say": "done" }] }] }"#;
    for (effect, rule, status) in [
        (RuleEffect::Allow, "mcp(calc.add)", ToolResultStatus::Done),
        (RuleEffect::Allow, "mcp__calc", ToolResultStatus::Done),
        (RuleEffect::Deny, "mcp(calc)", ToolResultStatus::Denied),
        (RuleEffect::Allow, "mcp(other)", ToolResultStatus::Denied),
    ] {
        let catalog = servers(program(&server));
        let run = scenario().script(script).rule(effect, rule).tool_catalog(catalog).prompt("go").run().await;
        assert_eq!(answer(&run, "c0").status, status, "{rule}: {}", run.transcript());
    }
}

#[tokio::test]
async fn programs_get_a_clean_environment() {
    let server = ScriptedMcpProgram::new(json!({}));
    let (_run, answers) = run_calls(servers(program(&server)), &[("mcp__calc__env", json!({}))]).await;
    let names: Vec<&str> = answers[0].text.split(' ').filter(|name| !name.starts_with("BOSUN_JOB")).collect();
    assert!(names.contains(&"OWN") && names.contains(&"PATH") && !names.contains(&"CARGO"), "{names:?}");
}

#[tokio::test]
async fn servers_may_ask_for_roots_and_the_user_but_not_for_a_model() {
    for revision in ["session", "stateless"] {
        let server = ScriptedMcpProgram::new(json!({ "revision": revision }));
        let calls = [("mcp__calc__ask", json!({}))];
        let (_run, answers) = run_calls(servers(program(&server)), &calls).await;
        assert_eq!(answers[0].text, r#"{"action": "cancel"}"#, "{revision}: no user answers in this session");
    }
    let server = ScriptedMcpProgram::new(json!({ "revision": "session" }));
    let calls = [("mcp__calc__roots", json!({})), ("mcp__calc__sample", json!({}))];
    let (_run, answers) = run_calls(servers(program(&server)), &calls).await;
    assert!(answers[0].text.contains("file:///work%20folder"), "{}", answers[0].text);
    assert_eq!(answers[1].text, "-32601");
}

#[tokio::test]
async fn calls_that_take_too_long_end_and_are_cancelled() {
    for revision in ["session", "stateless"] {
        let server = ScriptedMcpProgram::new(json!({ "revision": revision }));
        let second = Duration::from_secs(1);
        let settings = McpServerSettings { call_timeout: second, task_timeout: second, ..program(&server) };
        let calls = [
            ("mcp__calc__hang", json!({})),
            ("mcp__calc__progress", json!({})),
            ("mcp__calc__never", json!({})),
            ("mcp__calc__expire", json!({})),
            ("mcp__calc__add", json!({ "a": 1, "b": 1 })),
        ];
        let (_run, answers) = run_calls(servers(settings), &calls).await;
        let texts: Vec<&str> = answers.iter().map(|answer| answer.text.as_str()).collect();
        assert!(texts[0].contains("did not answer `tools/call` within 1 s"), "{}", texts[0]);
        assert!(texts[1].contains("its last progress was: ") && texts[1].contains("step"), "{}", texts[1]);
        assert_eq!(texts[2], "the MCP server `calc` did not end the task within 1 s");
        assert!(texts[3].contains("lost the task") && texts[3].contains("there is no such task"), "{}", texts[3]);
        assert_eq!(texts[4], "the sum is 2", "the server is still used");
        let calls: Vec<Value> = server.heard("tools/call").iter().map(|call| call["id"].clone()).collect();
        let cancelled = server.heard("notifications/cancelled");
        let of_calls = cancelled.iter().filter(|message| calls.contains(&message["params"]["requestId"]));
        assert_eq!(of_calls.count(), 2, "{revision}");
        assert_eq!(server.heard("tasks/cancel").len(), 1, "{revision}");
        assert_eq!(server.pids().len(), 1);
    }
}

#[tokio::test]
async fn results_that_are_too_large_end_the_connection() {
    let server = ScriptedMcpProgram::new(json!({}));
    let calls = [("mcp__calc__huge", json!({})), ("mcp__calc__add", json!({ "a": 1, "b": 1 }))];
    let (_run, answers) = run_calls(servers(program(&server)), &calls).await;
    assert!(answers[0].text.contains("cannot be reached"), "{}", answers[0].text);
    assert_eq!(answers[1].text, "the sum is 2");
    let served = ScriptedMcpProgram::new(json!({})).serve();
    let (_run, answers) = run_calls(servers(url(&served, Vec::new())), &calls).await;
    assert!(answers[0].text.contains("cannot be reached"), "{}", answers[0].text);
    assert_eq!(answers[1].text, "the sum is 2");
}

#[tokio::test]
async fn servers_that_do_not_start_say_why_and_are_not_started_again_at_once() {
    let guardian = test_guardian();
    let missing = McpProgram {
        command: "no-such-program".into(),
        args: Vec::new(),
        env: Vec::new(),
        cwd: "/".into(),
        pinned: Vec::new(),
    };
    let servers_missing = servers(settings(McpAddress::Program(missing)));
    let error = async |servers: &McpServers| servers.check("calc", &guardian).await.unwrap().unwrap_err();
    assert!(error(&servers_missing).await.contains("no-such-program"));
    error(&servers_missing).await;
    let third = error(&servers_missing).await;
    assert!(third.contains("it may be started again in"), "{third}");
    let ends = McpProgram {
        command: "sh".into(),
        args: vec!["-c".into(), "echo a dependency is missing >&2; exit 4".into()],
        env: Vec::new(),
        cwd: "/".into(),
        pinned: Vec::new(),
    };
    let ended = error(&servers(settings(McpAddress::Program(ends.clone())))).await;
    assert!(ended.contains("exit code 4") && ended.contains("a dependency is missing"), "{ended}");
    let silent = ScriptedMcpProgram::new(json!({ "silent": true }));
    let silent = McpServerSettings { start_timeout: Duration::from_secs(1), ..program(&silent) };
    assert!(error(&servers(silent)).await.contains("did not answer"));
    let refuses = ScriptedMcpProgram::new(json!({ "token": "secret" })).serve();
    let refused = error(&servers(url(&refuses, Vec::new()))).await;
    assert!(refused.contains("401") && refused.contains("Bearer realm"), "{refused}");
    let changed = McpProgram { pinned: vec![("/etc/hostname".into(), "other".into())], ..ends };
    let changed = error(&servers(settings(McpAddress::Program(changed)))).await;
    assert!(changed.contains("/etc/hostname has changed"), "{changed}");
    assert!(servers_missing.check("other", &guardian).await.is_none());
}

#[tokio::test]
async fn slow_starts_and_garbage_do_not_matter() {
    let server = ScriptedMcpProgram::new(json!({ "delay": 1, "chatty": true, "revision": "session" }));
    let guardian = test_guardian();
    let check = servers(program(&server)).check("calc", &guardian).await.unwrap().unwrap();
    assert_eq!(check.revision, McpRevision::Session);
    assert!(check.tools.iter().any(|(name, _)| name == "mcp__calc__add"));
    assert_eq!(check.rejected, ["the schema of `broken` is not an object"]);
    let only = McpServerSettings {
        tools: Some(vec!["add".into(), "view".into()]),
        denied_tools: vec!["view".into()],
        ..program(&server)
    };
    let check = servers(only).check("calc", &guardian).await.unwrap().unwrap();
    assert_eq!(check.tools.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["mcp__calc__add"]);
}

#[tokio::test]
async fn many_agents_share_one_process() {
    let server = ScriptedMcpProgram::new(json!({}));
    let (guardian, servers) = (test_guardian(), servers(program(&server)));
    let lists = futures_util::future::join_all((0..20).map(|_agent| servers.list("calc", &guardian))).await;
    assert!(lists.iter().all(|list| list.problems.is_empty() && list.tools.len() == 24));
    assert_eq!(server.pids().len(), 1);
    assert_eq!(server.heard("tools/list").len(), 2, "one list of two pages");
}
