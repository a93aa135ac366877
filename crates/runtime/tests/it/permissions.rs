//! The files that calls may open: never control files, and after the user's permission only what it covers.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use protocol::api::{DecideParams, Method};
use protocol::{
    Ask, AskDecision, CallId, Event, MailDelivery, PermissionMode, RuleEffect, ToolResult, ToolResultStatus,
};
use rpc::RpcClient;
use runtime::SessionStart;
use serde_json::{Value, json};
use testkit::session::{PlayedSession, Scenario, SessionDriver, scenario};

/// A script that makes these calls at once, and ends.
fn calls(calls: &[(&str, Value)]) -> String {
    let call = |(number, (tool, input)): (usize, &(&str, Value))| json!({ "call": { "id": format!("call-{number}"), "tool": tool, "input": input } });
    let calls: Vec<Value> = calls.iter().enumerate().map(call).collect();
    let rules = json!([{ "when": { "turn": 1 }, "answer": calls }, { "answer": [{ "say": "done" }] }]);
    json!({ "version": 1, "about": "For a test", "rules": rules }).to_string()
}

fn patch(body: &str) -> Value {
    json!({ "patch": format!("*** Begin Patch\n{body}\n*** End Patch") })
}

/// The results of the calls, in the order of the calls.
fn answers(run: &PlayedSession) -> Vec<ToolResult> {
    let answer = |event: &Event| match event {
        Event::CallAnswered { call, answer, .. } => Some((call.clone(), answer.clone())),
        _other => None,
    };
    let mut answers: Vec<_> = run.events().iter().filter_map(|envelope| answer(&envelope.entry.event)).collect();
    let number = |call: &CallId| call.0.trim_start_matches("call-").parse::<usize>().unwrap();
    answers.sort_by_key(|(call, _)| number(call));
    answers.into_iter().map(|(_, answer)| answer).collect()
}

/// Calls of all tools that could access a file.
fn attempts(path: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("view", json!({ "path": path })),
        ("grep", json!({ "pattern": "control", "path": path })),
        ("glob", json!({ "pattern": "*", "path": path })),
        ("create", json!({ "path": path, "content": "mine" })),
        ("edit", json!({ "path": path, "old": "control", "new": "mine" })),
        ("apply_patch", patch(&format!("*** Update File: {path}\n-control\n+mine"))),
        ("apply_patch", patch(&format!("*** Add File: {path}\n+mine"))),
        ("apply_patch", patch(&format!("*** Delete File: {path}"))),
        ("apply_patch", patch(&format!("*** Update File: {path}\n*** Move to: free-2.txt\n-control\n+mine"))),
        ("apply_patch", patch(&format!("*** Update File: free.txt\n*** Move to: {path}\n-control\n+mine"))),
    ]
}

/// The files that control an agent, in a project.
const CONTROLS: [&str; 5] =
    [".bosun/config.toml", ".claude/settings.json", ".claude/settings.local.json", ".mcp.json", ".github/hooks/x.json"];

fn controlled(mode: PermissionMode) -> Scenario {
    controlled_where(mode, Scenario::home_added)
}

fn controlled_where(mode: PermissionMode, reach: fn(Scenario) -> Scenario) -> Scenario {
    let free = reach(scenario().mode(mode)).file("free.txt", "control\n");
    CONTROLS.iter().fold(free, |scenario, path| scenario.file(path, "control\n"))
}

/// Writes a file to the home, and links to control files into the working folder.
fn make_links(home: &Path, folder: &Path) {
    fs::write(home.join("config.toml"), "control\n").unwrap();
    fs::hard_link(home.join("config.toml"), folder.join("second-name")).unwrap();
    fs::hard_link(folder.join(".mcp.json"), folder.join("other-name")).unwrap();
    symlink(home, folder.join("link")).unwrap();
    symlink(".bosun", folder.join("dot")).unwrap();
    symlink("second-name", folder.join("chain")).unwrap();
}

#[tokio::test]
async fn no_mode_lets_an_agent_reach_control_files() {
    let reaches: [fn(Scenario) -> Scenario; 2] = [Scenario::home_added, Scenario::asks_outside];
    for (mode, reach) in PermissionMode::ALL.into_iter().flat_map(|mode| reaches.map(|reach| (mode, reach))) {
        let paths =
            ["second-name", "other-name", "link/config.toml", "link/new", "dot/config.toml", "dot/new", "chain"];
        let mut tried: Vec<_> = CONTROLS.iter().chain(&paths).flat_map(|path| attempts(path)).collect();
        tried.extend([("view", json!({ "path": ".bosun" })), ("grep", json!({ "pattern": "c", "path": "link" }))]);
        let stage = controlled_where(mode, reach).script(&calls(&tried)).ready();
        make_links(stage.home().root(), &stage.path(""));
        let mut driver = stage.open(SessionStart::New).await;
        driver.send("go", MailDelivery::FollowUp).await;
        driver.rest().await;
        let run = driver.leave().await;
        for (answer, (tool, input)) in answers(&run).iter().zip(&tried) {
            assert_eq!(answer.status, ToolResultStatus::Denied, "{mode}, {tool} {input}: {}", answer.text);
        }
        assert_eq!(answers(&run).len(), tried.len());
        for path in CONTROLS.iter().chain(&["second-name", "other-name", "free.txt"]) {
            assert_eq!(run.file(path).as_deref(), Some("control\n"), "{mode}, {path}");
        }
        assert_eq!(fs::read_to_string(run.stage().home().root().join("config.toml")).unwrap(), "control\n");
        assert!(!run.stage().home().root().join("new").exists() && run.file(".bosun/new").is_none());
    }
}

#[tokio::test]
async fn no_mode_lets_a_command_reach_controls_through_other_names() {
    for mode in PermissionMode::ALL {
        let commands = [
            "cat link/config.toml",
            "echo mine > link/config.toml",
            "cp free.txt second-name",
            "cd link && echo mine > config.toml",
            "cp free.txt --target-directory=link",
            "rm dot/config.toml",
        ];
        let tried: Vec<_> = commands.iter().map(|command| ("shell", json!({ "command": command }))).collect();
        let stage = controlled(mode).script(&calls(&tried)).ready();
        make_links(stage.home().root(), &stage.path(""));
        let mut driver = stage.open(SessionStart::New).await;
        driver.send("go", MailDelivery::FollowUp).await;
        driver.rest().await;
        let run = driver.leave().await;
        for (answer, command) in answers(&run).iter().zip(commands) {
            assert_eq!(answer.status, ToolResultStatus::Denied, "{mode}, {command}: {}", answer.text);
            assert!(answer.text.contains("controls"), "{mode}, {command}: {}", answer.text);
        }
        assert_eq!(answers(&run).len(), tried.len());
    }
}

#[tokio::test]
async fn a_redirection_is_judged_by_its_target() {
    let tried = [
        ("shell", json!({ "command": "echo mine > away/new" })),
        ("shell", json!({ "command": "echo mine > near/new" })),
    ];
    let stage = scenario().mode(PermissionMode::AcceptEdits).rule(RuleEffect::Allow, "shell(echo *)");
    let stage = stage.rule(RuleEffect::Deny, "edit(/**/outer/**)").script(&calls(&tried)).ready();
    let outer = tempfile::tempdir().unwrap();
    fs::create_dir(outer.path().join("outer")).unwrap();
    fs::create_dir(stage.path("inner")).unwrap();
    symlink(outer.path().join("outer"), stage.path("away")).unwrap();
    symlink("inner", stage.path("near")).unwrap();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    driver.rest().await;
    let run = driver.leave().await;
    let statuses: Vec<_> = answers(&run).iter().map(|answer| answer.status).collect();
    assert_eq!(statuses, [ToolResultStatus::Denied, ToolResultStatus::Done]);
    assert!(!outer.path().join("outer/new").exists());
    assert_eq!(run.file("inner/new").as_deref(), Some("mine\n"));
}

#[tokio::test]
async fn a_search_leaves_out_control_files() {
    let tried = [
        ("grep", json!({ "pattern": "control" })),
        ("grep", json!({ "pattern": "control", "glob": "**/.*" })),
        ("grep", json!({ "pattern": "control", "glob": "**/{.bosun,.claude,.github/hooks}/*" })),
        ("glob", json!({ "pattern": "**/.*" })),
        ("view", json!({ "path": "." })),
        ("view", json!({ "path": ".claude" })),
    ];
    let stage = controlled(PermissionMode::AllowAll).script(&calls(&tried)).ready();
    make_links(stage.home().root(), &stage.path(""));
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    driver.rest().await;
    let run = driver.leave().await;
    let texts: Vec<String> = answers(&run).into_iter().map(|answer| answer.text).collect();
    let left_out = |count: usize| format!("[{count} files left out: they may not be read]\n");
    assert_eq!(texts[0], format!("free.txt\n1: control\n{}", left_out(2)));
    assert_eq!(texts[1], "no matches in 0 files\n[1 file left out: it may not be read]\n");
    // Braces in a pattern do not make control files visible.
    assert!(!texts[2].contains("1: control"), "{}", texts[2]);
    assert_eq!(texts[3], "[1 file left out: it may not be read]\n");
    assert!(
        !texts[4].contains(".bosun") && !texts[4].contains("name") && texts[4].ends_with(&left_out(4)),
        "{}",
        texts[4]
    );
    assert_eq!(texts[5], format!(".claude/ has 0 entries\n{}", left_out(2)));
}

/// Waits for an ask.
async fn asked(driver: &mut SessionDriver) -> Ask {
    let envelope = driver.until("an ask", |event| matches!(event, Event::AskOpened(_))).await;
    let Event::AskOpened(ask) = envelope.entry.event else { panic!("{envelope:?}") };
    ask
}

/// Permits what was asked.
async fn permit(driver: &SessionDriver, ask: Ask) {
    let (client, _notifications) = RpcClient::connect(&driver.session().home().socket(driver.id())).await.unwrap();
    let params = DecideParams { ask: ask.id, decision: AskDecision::Allow { rules: Vec::new(), input: None } };
    let _: Value = client.call(Method::AsksDecide, params).await.unwrap();
}

#[tokio::test]
async fn permission_covers_the_path_of_the_call_and_no_other() {
    let tried = [("create", json!({ "path": "link/new.txt", "content": "x" }))];
    for target in ["a", "b"] {
        let stage = scenario().file("a/x", "").file("b/x", "").ask_wait(None).script(&calls(&tried)).ready();
        symlink("a", stage.path("link")).unwrap();
        let mut driver = stage.open(SessionStart::New).await;
        driver.send("go", MailDelivery::FollowUp).await;
        let ask = asked(&mut driver).await;
        fs::remove_file(stage.path("link")).unwrap();
        symlink(target, stage.path("link")).unwrap();
        permit(&driver, ask).await;
        driver.rest().await;
        let run = driver.leave().await;
        let answer = &answers(&run)[0];
        assert!(run.file("b/new.txt").is_none(), "{answer:?}");
        if target == "a" {
            assert_eq!(
                (answer.status, run.file("a/new.txt").as_deref()),
                (ToolResultStatus::Done, Some("x")),
                "{answer:?}"
            );
        } else {
            assert_eq!((answer.status, run.file("a/new.txt")), (ToolResultStatus::Refused, None), "{answer:?}");
            assert!(answer.text.contains("b/new.txt is not permitted for this call"), "{answer:?}");
        }
    }
}

#[tokio::test]
async fn rules_on_files_apply_inside_a_search() {
    let tried = [
        ("grep", json!({ "pattern": "needle" })),
        ("glob", json!({ "pattern": "*.txt" })),
        ("view", json!({ "path": "deep" })),
        ("view", json!({ "path": "deep/secret.txt" })),
        ("edit", json!({ "path": "deep/secret.txt", "old": "needle", "new": "x" })),
        ("apply_patch", patch("*** Update File: deep/secret.txt\n*** Move to: free-2.txt\n-needle\n+x")),
    ];
    let stage = scenario()
        .file("free.txt", "needle\n")
        .file("deep/secret.txt", "needle\n")
        .file("deep/private.txt", "needle\n")
        .rule(RuleEffect::Deny, "read(**/secret.txt)")
        .rule(RuleEffect::Ask, "read(**/private.txt)")
        .allow_all();
    let run = stage.script(&calls(&tried)).prompt("go").run().await;
    let answers = answers(&run);
    let texts: Vec<&str> = answers.iter().map(|answer| answer.text.as_str()).collect();
    assert_eq!(texts[0], "free.txt\n1: needle\n[2 files left out: they may not be read]\n");
    assert_eq!(texts[1], "free.txt\n[2 files left out: they may not be read]\n");
    assert_eq!(texts[2], "deep/ has 0 entries\n[2 files left out: they may not be read]\n");
    assert!(answers[3..].iter().all(|answer| answer.status == ToolResultStatus::Denied), "{texts:#?}");
    assert_eq!((run.file("deep/secret.txt").as_deref(), run.file("free-2.txt")), (Some("needle\n"), None));
}

#[tokio::test]
async fn permission_for_a_file_or_a_search_covers_what_was_asked() {
    let tried = [("view", json!({ "path": "private.txt" })), ("grep", json!({ "pattern": "needle", "path": "deep" }))];
    let stage = scenario()
        .file("private.txt", "needle\n")
        .file("deep/free.txt", "needle\n")
        .file("deep/private.txt", "needle\n")
        .rule(RuleEffect::Ask, "read(**/private.txt)")
        .rule(RuleEffect::Ask, "grep")
        .ask_wait(None)
        .script(&calls(&tried))
        .ready();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    for _ in &tried {
        let ask = asked(&mut driver).await;
        permit(&driver, ask).await;
    }
    driver.rest().await;
    let answers = answers(&driver.leave().await);
    assert_eq!((answers[0].status, answers[0].text.contains("needle")), (ToolResultStatus::Done, true), "{answers:?}");
    assert!(answers[1].text.contains("deep/free.txt\n1: needle"), "{answers:?}");
}

/// Plays calls of files in a folder outside the workspace, with one file `there.txt`.
async fn outside_calls(prepare: impl Fn(Scenario) -> Scenario) -> (Vec<ToolResult>, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("there.txt"), "secret").unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let made = format!("*** Add File: {}\n+made\n*** Add File: {}\n+made", path("deep/a.txt"), path("b.txt"));
    let script = calls(&[
        ("view", json!({ "path": path("there.txt") })),
        ("create", json!({ "path": path("new/file.txt"), "content": "mine" })),
        ("apply_patch", patch(&made)),
        ("view", json!({ "path": "inside.txt" })),
    ]);
    let scenario = prepare(scenario().script(&script).file("inside.txt", "inside").prompt("go"));
    (answers(&scenario.run().await), folder)
}

#[tokio::test]
async fn files_outside_the_workspace_are_asked_about_if_the_session_wants_that() {
    use ToolResultStatus::{Denied, Done, Refused};
    let statuses = |answers: &[ToolResult]| answers.iter().map(|answer| answer.status).collect::<Vec<_>>();
    // Nobody answers, so what is asked about is denied.
    for mode in [PermissionMode::Default, PermissionMode::AcceptEdits] {
        let (answers, folder) = outside_calls(|scenario| scenario.asks_outside().mode(mode)).await;
        assert_eq!(statuses(&answers), [Denied, Denied, Denied, Done], "{mode:?}: {answers:?}");
        assert!(answers[0].text.contains("outside the workspace"), "{}", answers[0].text);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
    let (answers, folder) = outside_calls(|scenario| scenario.asks_outside().allow_all()).await;
    assert_eq!(statuses(&answers), [Done; 4], "{answers:?}");
    assert!(answers[0].text.contains("secret"));
    for (name, text) in [("new/file.txt", "mine"), ("deep/a.txt", "made\n"), ("b.txt", "made\n")] {
        assert_eq!(fs::read_to_string(folder.path().join(name)).unwrap(), text, "{name}");
    }
    // A rule decides as it does inside.
    let (answers, _folder) =
        outside_calls(|scenario| scenario.asks_outside().allow_all().rule(RuleEffect::Deny, "edit")).await;
    assert_eq!(statuses(&answers), [Done, Denied, Denied, Done], "{answers:?}");
    let (answers, _folder) = outside_calls(|scenario| scenario.asks_outside().rule(RuleEffect::Allow, "edit")).await;
    assert_eq!(statuses(&answers), [Denied, Done, Done, Done], "{answers:?}");
    let (answers, _folder) = outside_calls(Scenario::allow_all).await;
    assert_eq!(statuses(&answers), [Refused, Refused, Refused, Done], "{answers:?}");
}
