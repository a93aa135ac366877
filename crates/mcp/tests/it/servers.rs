//! Servers as programs and over HTTP, used by the agents of a session.

use std::sync::Arc;
use std::time::Duration;

use bosun_mcp::{
    LoginOutcome, LoginPrompter, LoginRequest, LoginStatus, LoginStore, McpAddress, McpLogins, McpOAuthSettings,
    McpProgram, McpRevision, McpServerSettings, McpServers, McpServersConfig, log_out,
};
use host::{Guardian, Home};
use net::{HttpClient, HttpTimeouts, NetError, NetworkRoute, Secret};
use protocol::{Event, RuleEffect, ToolResult, ToolResultStatus};
use serde_json::{Value, json};
use testkit::mcp::{ScriptedMcpProgram, ScriptedMcpUrl};
use testkit::runtime::SessionStart;
use testkit::runtime::slash::SlashOutcome;
use testkit::session::{PlayedSession, guardian, scenario};
use tools::{BoxFuture, ToolCatalog};

pub(crate) fn settings(address: McpAddress) -> McpServerSettings {
    McpServerSettings {
        name: "calc".into(),
        address,
        start_timeout: Duration::from_secs(20),
        call_timeout: Duration::from_secs(20),
        task_timeout: Duration::from_secs(60),
        tools: None,
        denied_tools: Vec::new(),
        revision: None,
        sampling: false,
    }
}

pub(crate) fn program(server: &ScriptedMcpProgram) -> McpServerSettings {
    let (command, args) = server.command();
    let env = vec![("OWN".to_owned(), Secret::new("1"))];
    settings(McpAddress::Program(McpProgram { command, args, env, cwd: server.folder(), pinned: Vec::new() }))
}

pub(crate) fn url(server: &ScriptedMcpUrl, headers: Vec<(String, Secret)>) -> McpServerSettings {
    settings(McpAddress::Url { url: server.url().to_owned(), headers, oauth: Box::default() })
}

pub(crate) fn servers(settings: McpServerSettings) -> Arc<McpServers> {
    let env = vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())];
    let roots = vec!["/work folder".into()];
    let config = McpServersConfig { servers: vec![settings.into()], env, roots, ..McpServersConfig::default() };
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
    // Its process may take up the time, or its first request.
    let silent = error(&servers(silent)).await;
    assert!(silent.contains("within 1 s"), "{silent}");
    let refuses = ScriptedMcpProgram::new(json!({ "token": "secret" })).serve();
    let wrong = vec![("Authorization".to_owned(), Secret::new("Bearer t2"))];
    let refused = error(&servers(url(&refuses, wrong))).await;
    assert!(refused.contains("401") && refused.contains("Bearer realm"), "{refused}");
    let refused = error(&servers(url(&refuses, Vec::new()))).await;
    assert!(refused.contains("it needs a login: run `bosun mcp login calc`"), "{refused}");
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
    assert!(lists.iter().all(|list| list.problems.is_empty() && list.tools.len() == 25));
    assert_eq!(server.pids().len(), 1);
    assert_eq!(server.heard("tools/list").len(), 2, "one list of two pages");
}

/// A browser whose user is signed in already: every login page redirects at once.
#[derive(Debug)]
struct RedirectFollower;

impl LoginPrompter for RedirectFollower {
    fn redirect_uri(&self) -> String {
        "http://127.0.0.1:9/callback".into()
    }

    fn log_in<'a>(&'a self, request: &'a LoginRequest) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move {
            let client = HttpClient::new(NetworkRoute::default(), HttpTimeouts::default());
            match client.get(&request.url, &[]).await {
                Err(NetError::Redirected { location, .. }) => Ok(location),
                answer => Err(format!("{answer:?}")),
            }
        })
    }
}

#[tokio::test]
async fn a_login_is_kept_renewed_and_ended() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::open(folder.path().join("home")).unwrap();
    let store = LoginStore::new(home);
    let server = ScriptedMcpProgram::new(json!({ "revision": "stateless", "oauth": 4 })).serve();
    let guardian = test_guardian();
    let servers = |prompter: Option<Arc<dyn LoginPrompter>>| {
        let logins = McpLogins { store: Some(store.clone()), prompter, ..McpLogins::default() };
        let servers = vec![url(&server, Vec::new()).into()];
        Arc::new(McpServers::new(McpServersConfig { servers, logins, ..McpServersConfig::default() }))
    };
    let why = servers(None).check("calc", &guardian).await.unwrap().unwrap_err();
    assert!(why.contains("it needs a login: run `bosun mcp login calc`"), "{why}");
    assert_eq!(store.read_all().unwrap().status("calc", server.url()), LoginStatus::Needed);

    let signed_in = servers(Some(Arc::new(RedirectFollower))).log_in("calc", &guardian).await.unwrap();
    assert_eq!(signed_in, Ok(LoginOutcome::SignedIn { tools: 25 }));
    assert_eq!(store.read_all().unwrap().status("calc", server.url()), LoginStatus::SignedIn);

    // Another process uses the login. Its token ends after a few requests, and is renewed each time.
    let calls: Vec<(&str, Value)> = (0..8).map(|n| ("mcp__calc__add", json!({ "a": n, "b": 1 }))).collect();
    let (_run, answers) = run_calls(servers(None), &calls).await;
    let sums: Vec<&str> = answers.iter().map(|answer| answer.text.as_str()).collect();
    assert_eq!(sums[7], "the sum is 8", "{sums:?}");
    let requests = server.program().heard("/token");
    let grants: Vec<&str> = requests.iter().filter_map(|request| request["params"]["grant_type"].as_str()).collect();
    assert!(
        grants[0] == "authorization_code" && grants[1..].iter().all(|&grant| grant == "refresh_token"),
        "{grants:?}"
    );
    assert!(grants.len() > 2, "{grants:?}");
    let named = |request: &Value| request["params"]["resource"] == server.url();
    assert!(requests.iter().all(named), "every token is for this server");

    let (route, oauth) = (NetworkRoute::default(), McpOAuthSettings::default());
    let ended = log_out(&store, ("calc", server.url()), &oauth, route, &host::SystemClock).await.unwrap();
    assert_eq!(ended, (true, None));
    assert_eq!(server.program().heard("/revoke").len(), 1);
    let (_run, answers) = run_calls(servers(None), &calls[..1]).await;
    assert!(answers[0].text.contains("bosun mcp login calc"), "the model hears it: {}", answers[0].text);
    assert_eq!(store.read_all().unwrap().status("calc", server.url()), LoginStatus::Needed);
}

#[tokio::test]
async fn tokens_that_are_renewed_while_a_session_runs_are_redacted() {
    let folder = tempfile::tempdir().unwrap();
    let store = LoginStore::new(Home::open(folder.path().join("home")).unwrap());
    let server = ScriptedMcpProgram::new(json!({ "revision": "stateless", "oauth": 4 })).serve();
    let servers = |prompter: Option<Arc<dyn LoginPrompter>>| {
        let logins = McpLogins { store: Some(store.clone()), prompter, ..McpLogins::default() };
        let servers = vec![url(&server, Vec::new()).into()];
        Arc::new(McpServers::new(McpServersConfig { servers, logins, ..McpServersConfig::default() }))
    };
    servers(Some(Arc::new(RedirectFollower))).log_in("calc", &test_guardian()).await.unwrap().unwrap();
    let before = server.program().heard("/token").len();
    let call = |turn| json!({ "id": format!("c{turn}"), "tool": "mcp__calc__add", "input": { "a": 1, "b": 1 } });
    let mut rules: Vec<Value> =
        (1..6).map(|turn| json!({ "when": { "turn": turn }, "answer": [{ "call": call(turn) }] })).collect();
    let tokens: Vec<String> = (1..9).map(|number| format!("<access-token-{number}>")).collect();
    rules.push(json!({ "answer": [{ "say": tokens.concat() }] }));
    let script = json!({ "version": 1, "about": "Tells tokens", "rules": rules }).to_string();
    let run = scenario().script(&script).allow_all().tool_catalog(servers(None)).prompt("go").run().await;
    let after = server.program().heard("/token").len();
    assert!((before + 1..8).contains(&after), "the token was renewed: {before}, {after}");
    let text = run.text();
    assert!((before + 1..=after).all(|number| !text.contains(&format!("<access-token-{number}>"))), "{text}");
    assert!(text.contains(&format!("<access-token-{}>", after + 1)), "{text}");
}

#[tokio::test]
async fn a_session_that_the_server_forgets_is_begun_again_and_ended_at_the_end() {
    let server = ScriptedMcpProgram::new(json!({ "revision": "session", "forgets": 4 })).serve();
    let calls: Vec<(&str, Value)> = (0..6).map(|n| ("mcp__calc__add", json!({ "a": n, "b": 1 }))).collect();
    let (_run, answers) = run_calls(servers(url(&server, Vec::new())), &calls).await;
    let sums: Vec<&str> = answers.iter().map(|answer| answer.text.as_str()).collect();
    assert_eq!(sums, ["the sum is 1", "the sum is 2", "the sum is 3", "the sum is 4", "the sum is 5", "the sum is 6"]);
    assert!(server.program().heard("initialize").len() > 1);
    assert_eq!(server.program().heard("DELETE").len(), 1, "the last session is ended with ours");
}

#[tokio::test]
async fn changes_are_heard_outside_of_requests() {
    let server = ScriptedMcpProgram::new(json!({ "revision": "session" })).serve();
    let calls = [
        ("tool_search", json!({ "query": "calc add" })),
        ("mcp__calc__grow", json!({})),
        ("tool_search", json!({ "query": "mcp__calc__grown" })),
        ("mcp__calc__grown", json!({})),
    ];
    let (_run, answers) = run_calls(servers(url(&server, Vec::new())), &calls).await;
    assert_eq!(answers[3].text, "new", "{}", answers[2].text);
    assert_eq!(server.program().heard("GET").len(), 1);
}

#[tokio::test]
async fn resources_are_listed_and_read_as_data_of_their_server() {
    for revision in ["session", "stateless"] {
        let server = ScriptedMcpProgram::new(json!({ "revision": revision }));
        let calls = [
            ("tool_search", json!({ "query": "list_mcp_resources read_mcp_resource" })),
            ("list_mcp_resources", json!({})),
            ("list_mcp_resources", json!({ "server": "other" })),
            ("read_mcp_resource", json!({ "server": "calc", "uri": "docs://plan" })),
            ("read_mcp_resource", json!({ "server": "calc", "uri": "docs://none" })),
        ];
        let (_run, answers) = run_calls(servers(program(&server)), &calls).await;
        let texts: Vec<&str> = answers.iter().map(|answer| answer.text.as_str()).collect();
        assert!(texts[1].contains("docs://plan (text/plain)  plan  The plan."), "{}", texts[1]);
        assert!(texts[1].contains("docs://{name}"), "{}", texts[1]);
        assert!(texts[2].contains("there is no MCP server `other`; there are: calc"), "{}", texts[2]);
        assert!(texts[3].contains("First this, then that.") && texts[3].contains("not shown]"), "{}", texts[3]);
        assert!(texts[4].contains("there is no resource docs://none"), "{}", texts[4]);
    }
}

#[tokio::test]
async fn reading_a_resource_needs_the_permission_of_its_server() {
    let script = r#"{ "version": 1, "about": "Reads", "rules": [
        { "when": { "turn": 1 }, "answer": [{ "call": { "id": "c0", "tool": "read_mcp_resource",
            "input": { "server": "calc", "uri": "docs://plan" } } }] },
        { "answer": [{ "say": "done" }] }] }"#;
    let server = ScriptedMcpProgram::new(json!({}));
    for (effect, rule, status) in [
        (RuleEffect::Allow, "mcp(calc)", ToolResultStatus::Done),
        (RuleEffect::Allow, "mcp(calc.read_resource)", ToolResultStatus::Done),
        (RuleEffect::Allow, "mcp(other)", ToolResultStatus::Denied),
        (RuleEffect::Deny, "mcp(calc)", ToolResultStatus::Denied),
    ] {
        let catalog = servers(program(&server));
        let run = scenario().script(script).rule(effect, rule).tool_catalog(catalog).prompt("go").run().await;
        assert_eq!(answer(&run, "c0").status, status, "{rule}: {}", run.transcript());
    }
    let catalog = servers(program(&server));
    let run = scenario()
        .script(script)
        .allow_all()
        .rule(RuleEffect::Deny, "mcp(calc)")
        .tool_catalog(catalog)
        .prompt("go")
        .run();
    assert_eq!(answer(&run.await, "c0").status, ToolResultStatus::Denied, "a denial holds although all is allowed");
}

#[tokio::test]
async fn prompts_are_slash_commands_whose_text_is_quoted() {
    let server = ScriptedMcpProgram::new(json!({}));
    let script = r#"{ "version": 1, "about": "Answers", "rules": [{ "answer": [{ "say": "done" }] }] }"#;
    let stage = scenario().script(script).tool_catalog(servers(program(&server))).ready();
    let driver = stage.open(SessionStart::New).await;
    let run = async |text: &str| driver.session().dispatch(text).await;
    let SlashOutcome::Prompt(prompt) = run("/mcp__calc__review src/a.rs").await else { panic!("it is a prompt") };
    assert_eq!(prompt.display, "/mcp__calc__review src/a.rs");
    assert!(prompt.text.contains("of the MCP server `calc`"), "{}", prompt.text);
    let (_, quoted) = prompt.text.split_once("by that server:\n").unwrap();
    assert!(protocol::unquote(quoted).1.concat().contains("Review the file src/a.rs."), "{quoted}");
    for (text, why) in [
        ("/mcp__calc__review", "`file` is missing; its arguments are: FILE"),
        ("/mcp__calc__none", "it has: /mcp__calc__review"),
        ("/mcp__other__x", "there is no such MCP server; there are: calc"),
    ] {
        let refusal = run(text).await.refusal().unwrap().in_one_line();
        assert!(refusal.contains(why), "{text}: {refusal}");
    }
    driver.leave().await;
}

#[tokio::test]
async fn a_server_asks_the_model_only_if_the_user_allows_it() {
    for revision in ["session", "stateless"] {
        let server = ScriptedMcpProgram::new(json!({ "revision": revision }));
        for (sampling, expected) in [(false, "-32601"), (true, "The answer is 42.")] {
            let settings = McpServerSettings { sampling, ..program(&server) };
            let script = r#"{ "version": 1, "about": "Is asked", "rules": [
                { "when": { "prompt": "What is the answer" }, "answer": [{ "say": "The answer is 42." }] },
                { "when": { "turn": 1 }, "answer": [{ "call": { "id": "c0", "tool": "mcp__calc__sample", "input": {} } }] },
                { "answer": [{ "say": "done" }] }] }"#;
            let run = scenario().script(script).allow_all().tool_catalog(servers(settings)).prompt("go").run().await;
            let text = answer(&run, "c0").text;
            assert!(text.contains(expected), "{revision} {sampling}: {text}\n{}", run.transcript());
            assert_eq!(run.transcript().contains("mcp-sampling"), sampling, "it is a task with its costs");
        }
    }
}
