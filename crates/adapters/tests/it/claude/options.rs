//! Options without effect, which a client is told of, and those that refuse its session.

use serde_json::{Value, json};
use testkit::session::scenario;

use super::visit::{ClaudeTestClient, ClaudeTestHost};

const SCRIPT: &str = "
version: 1
rules:
  - answer: [ { say: 'You said: ${prompt}' } ]
";

/// The warnings that a client receives with its first turn, and the result of that turn.
async fn first_turn(args: &[&str], initialize: Value) -> (Vec<String>, Value) {
    let test_host = ClaudeTestHost::new(scenario().script(SCRIPT));
    let mut client = ClaudeTestClient::initialized(&test_host, args, initialize).await;
    client.prompt("hello").await;
    let result = client.next_of_type("result").await;
    client.prompt("again").await;
    let (frames, _) = client.close().await;
    let warnings = frames.iter().filter(|frame| frame["subtype"] == "informational");
    let text = |frame: &Value| {
        assert_eq!(frame["level"], "warning");
        frame["content"].as_str().unwrap().to_owned()
    };
    (warnings.map(text).collect(), result)
}

#[tokio::test]
async fn options_without_effect_are_named_once() {
    let args = [
        "--betas=context-1m",
        "--fallback-model",
        "haiku",
        "--task-budget",
        "5000",
        "--hologram",
        "--model=made-up",
        "--permission-mode=auto",
        "--allowedTools=Skill(pdf)",
        "--settings",
        r#"{"env":{"A":"b"},"cleanupPeriodDays":3,"includeCoAuthoredBy":false,"sandbox":{"enabled":true},"outputStyle":"mine"}"#,
    ];
    let initialize = json!({
        "hooks": { "FileChanged": [{ "hookCallbackIds": ["hook_0"] }] }, "planModeInstructions": "x", "toolAliases": {},
    });
    let (warnings, result) = first_turn(&args, initialize).await;
    assert_eq!(result["result"], "You said: hello");
    assert_eq!(
        warnings,
        [
            "--betas has no effect",
            "--fallback-model has no effect",
            "--hologram has no effect",
            "`planModeInstructions` of initialize has no effect",
            "the setting `cleanupPeriodDays` has no effect",
            "the setting `env` has no effect",
            "hooks on FileChanged are never called",
            "the permission rule `Skill(pdf)` allows nothing here",
            "the permission mode auto is not supported; the mode is default",
            "the settings enable a sandbox; commands run without one, because there is none",
            "the output style `mine` is unknown",
            "no configured provider has the model `made-up`; the configured model is used",
        ]
    );
}

#[tokio::test]
async fn options_with_an_effect_are_not_warned_of() {
    let args = [
        "--output-format",
        "stream-json",
        "--verbose",
        "--input-format",
        "stream-json",
        "--thinking=adaptive",
        "--max-turns=5",
        "--permission-prompt-tool=stdio",
        "--settings",
        r#"{"permissions":{"allow":["Read"],"defaultMode":"default"},"outputStyle":"Explanatory","model":"default"}"#,
    ];
    let initialize = json!({
        "appendSystemPrompt": "Be brief.", "forwardSubagentText": true, "sdkMcpServers": [], "title": "x",
        "promptSuggestions": false,
    });
    let (warnings, result) = first_turn(&args, initialize).await;
    assert_eq!((warnings, &result["subtype"]), (Vec::new(), &json!("success")));
}

/// What would restrict a session and is not supported refuses it by name.
#[tokio::test]
async fn restrictions_that_are_not_supported_refuse_the_session() {
    let cases: [(&[&str], &str); 13] = [
        (&["--safe-mode"], "--safe-mode is not supported"),
        (&["--bare"], "--bare is not supported"),
        (&["--project-config-root=/x"], "--project-config-root is not supported"),
        (
            &["--permission-prompt-tool", "mcp__a__b"],
            "--permission-prompt-tool mcp__a__b: no server inside the program",
        ),
        (&["--settings", r#"{"hooks":{"PreToolUse":[{"hooks":[{"type":"telepathy"}]}]}}"#], "--settings: "),
        (
            &["--settings", r#"{"permissions":{"blockReadsOutsideWorkingDirectories":true}}"#],
            "permissions.blockReadsOutsideWorkingDirectories",
        ),
        (&["--task-budget=much"], "--task-budget is not a whole number above 0: much"),
        (&["--permission-mode=free"], "unknown permission mode `free`"),
        (&["--settings", r#"{"permissions":{"defaultMode":"free"}}"#], "unknown permission mode `free`"),
        (&["--effort=7"], "--effort: unknown effort `7`"),
        (&["--thinking=deep"], "--thinking: unknown value `deep`"),
        (&["--setting-sources=all"], "unknown source `all`"),
        (&["--settings", "{"], "--settings is not JSON"),
    ];
    for (args, expected) in cases {
        let (_, result) = first_turn_of_refused(args).await;
        let why = result["errors"][0].as_str().unwrap();
        assert!(result["is_error"] == true && why.contains(expected), "{args:?}: {why}");
    }
}

async fn first_turn_of_refused(args: &[&str]) -> (Vec<Value>, Value) {
    let test_host = ClaudeTestHost::new(scenario().script(SCRIPT));
    let mut client = ClaudeTestClient::initialized(&test_host, args, json!({})).await;
    client.prompt("hello").await;
    let result = client.next_of_type("result").await;
    let (frames, ended) = client.close().await;
    assert_eq!(ended, bosun_adapters::AdapterExit::Failed);
    assert!(test_host.opened_with.lock().unwrap().is_empty(), "{args:?}");
    (frames, result)
}

#[tokio::test]
async fn a_second_initialize_changes_nothing_and_says_so() {
    let test_host = ClaudeTestHost::new(scenario().script(SCRIPT));
    let mut client = ClaudeTestClient::initialized(&test_host, &[], json!({})).await;
    client.prompt("hello").await;
    client.next_of_type("result").await;
    let again = client.request(json!({ "subtype": "initialize", "systemPrompt": "" })).await;
    assert_eq!(again["subtype"], "error", "{again}");
    let again = client.request(json!({ "subtype": "initialize", "hooks": { "Stop": [] }, "agents": {} })).await;
    assert_eq!(again["error"], "the session is open: these fields of initialize come too late: hooks");
    let again = client.request(json!({ "subtype": "initialize", "hooks": null })).await;
    assert_eq!(again["subtype"], "success", "{again}");
    client.close().await;
}

/// The style that the settings name is announced, and its text is part of the system prompt.
#[tokio::test]
async fn the_output_style_of_the_users_settings_applies() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    std::fs::create_dir(folder.path().join("output-styles")).unwrap();
    write("settings.json", r#"{"outputStyle":"pirate","permissions":{"deny":["WebFetch"],"allow":["Bash"]}}"#);
    write("output-styles/pirate.md", "---\nname: pirate\n---\nTalk like a pirate.");
    let variables = [("CLAUDE_CONFIG_DIR", folder.path().to_str().unwrap())];
    for (args, style) in [(&[][..], "pirate"), (&["--setting-sources=project"][..], "default")] {
        let test_host = ClaudeTestHost::with_variables(scenario().script(SCRIPT), &variables);
        let mut client = ClaudeTestClient::initialized(&test_host, args, json!({})).await;
        client.prompt("hello").await;
        let init = client.next_matching(|frame| frame["subtype"] == "init").await;
        assert_eq!(init["output_style"], style);
        let id = bosun_adapters::session_id(init["session_id"].as_str().unwrap()).unwrap();
        client.next_of_type("result").await;
        client.close().await;
        let system = test_host.fixture.model(id).requests()[0].system.clone();
        assert_eq!(system.contains("Talk like a pirate."), style == "pirate");
        let options = test_host.opened_with.lock().unwrap()[0].clone();
        let denied = if style == "pirate" { vec!["fetch".to_owned()] } else { Vec::new() };
        assert_eq!((options.deny, options.allow), (denied, Vec::new()));
    }
}
