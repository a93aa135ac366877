//! `bosun config`, and settings from every file.

use std::fs;
use std::path::PathBuf;
use std::thread;

use serde_json::{Value, json};
use testkit::binary::BinaryFixture;

use crate::scripts::{HELLO, shell};
use crate::stage;

/// A stage whose folder is a repository, and whose home exists.
fn repository() -> BinaryFixture {
    let stage = stage();
    fs::create_dir(stage.home()).unwrap();
    fs::create_dir(stage.path(".git")).unwrap();
    stage
}

fn shown(stage: &BinaryFixture) -> Value {
    stage.bosun(["config", "show", "--json"]).run().expect(0).json()
}

fn values<'a>(shown: &'a Value, key: &str) -> Vec<(&'a Value, &'a str)> {
    let all = shown["settings"].as_array().unwrap().iter().filter(|setting| setting["key"] == key);
    all.map(|setting| (&setting["value"], setting["origin"].as_str().unwrap())).collect()
}

fn local(stage: &BinaryFixture) -> PathBuf {
    let files = stage.bosun(["config", "path", "--json"]).run().expect(0).json();
    let file = files.as_array().unwrap().iter().find(|file| file["layer"] == "local").unwrap().clone();
    file["path"].as_str().unwrap().into()
}

#[test]
fn every_value_is_shown_with_where_it_came_from() {
    let stage = repository();
    fs::write(stage.home().join("config.toml"), "max-turns = 7\n[permissions]\ndeny = ['shell(rm *)']\n").unwrap();
    fs::create_dir_all(local(&stage).parent().unwrap()).unwrap();
    fs::write(local(&stage), "[permissions]\nmode = 'accept-edits'\nask = ['fetch']\n").unwrap();
    let all = shown(&stage);
    let [(turns, user)] = values(&all, "max-turns")[..] else { panic!("{all}") };
    assert!(*turns == 7 && user.starts_with("your settings, /"), "{user}");
    assert!(values(&all, "permissions.mode")[0].1.starts_with("your settings for this project, "));
    assert_eq!(values(&all, "limits.live"), [(&json!(32), "built in")]);
    assert_eq!(values(&all, "model")[0].1, "BOSUN_MODEL");
    assert_eq!((&all["trust"], &all["ignored"]), (&json!("untrusted"), &json!([])));
    let reach = all["outOfReach"].to_string();
    assert!(["/home\"", "/work/.bosun\"", "/work/.mcp.json\""].iter().all(|path| reach.contains(path)), "{reach}");
    fs::write(stage.path("extra.toml"), "").unwrap();
    let given = stage.bosun(["config", "show", "--json", "--settings", "extra.toml"]).run().expect(0).json();
    assert!(given["outOfReach"].to_string().contains("/work/extra.toml\""), "what steers a run is out of its reach");
    let text = stage.bosun(["config", "show", "--origin", "--deny", "edit"]).run().expect(0).stdout;
    assert!(text.contains("max-turns = 7  # your settings, "), "{text}");
    assert!(text.contains("permissions.deny = \"edit\"  # the command line\n"), "{text}");
    let plain = stage.bosun(["config", "show"]).run().expect(0).stdout;
    assert!(plain.contains("permissions.deny = \"shell(rm *)\"\n"), "{plain}");
}

#[test]
fn the_doctor_and_a_run_see_the_same_model_and_folders() {
    let stage = repository();
    let managed = stage.path("managed.toml");
    fs::write(&managed, "model = 'script/other.yaml'\n").unwrap();
    fs::write(stage.path("other.yaml"), HELLO).unwrap();
    let bosun = |args: &[&str]| stage.bosun(args).env("BOSUN_MANAGED", managed.to_str().unwrap());
    assert_eq!(bosun(&["-p", "hi"]).run().expect(0).stdout, "Hello.\n");
    let report = bosun(&["doctor", "--json"]).env("OLLAMA_HOST", "http://10.0.0.1").run().json();
    assert!(report.to_string().contains("script/other.yaml is usable"), "{report}");
    fs::write(&managed, "[workspace]\nadd-dirs = ['/nowhere']\n").unwrap();
    stage.script(HELLO);
    bosun(&["-p", "hi"]).run().expect(2).says(&["cannot work in /nowhere, named by "]);
    let report = bosun(&["doctor", "--json"]).env("OLLAMA_HOST", "http://10.0.0.1").run().expect(1).json();
    assert!(report.to_string().contains("cannot work in /nowhere, named by "), "{report}");
}

#[test]
fn files_are_checked_together_too() {
    let stage = repository();
    fs::create_dir(stage.path(".bosun")).unwrap();
    fs::write(stage.path(".bosun/config.toml"), "[managed]\nforbid = []\n").unwrap();
    stage.bosun(["config", "check"]).run().expect(2).says(&["a `managed` table is not allowed here"]);
}

#[test]
fn a_session_goes_on_without_a_folder_that_is_gone() {
    let stage = repository();
    stage.script(HELLO);
    let more = stage.home().parent().unwrap().join("more");
    fs::create_dir(&more).unwrap();
    stage.bosun(["-p", "hi", "--add-dir", more.to_str().unwrap()]).run().expect(0);
    fs::remove_dir(&more).unwrap();
    let ended = stage.bosun(["--continue", "-p", "again"]).run().expect(0);
    assert!(ended.stderr.contains("named by the session: No such file"), "{}", ended.stderr);
    let ended = stage.bosun(["--continue", "-p", "again"]).run().expect(0);
    assert!(!ended.stderr.contains("cannot work in"), "it is told once: {}", ended.stderr);
}

#[test]
fn a_session_takes_its_mode_from_the_strongest_file() {
    let stage = repository();
    stage.script(HELLO);
    let permission = || {
        stage.bosun(["-p", "hi"]).run().expect(0);
        let id = stage.newest();
        stage.bosun(["sessions", "show", &id, "--json"]).run().expect(0).json()["session"]["permission"].clone()
    };
    fs::write(stage.home().join("config.toml"), "[permissions]\nmode = 'plan'\n").unwrap();
    assert_eq!(permission(), "plan");
    fs::create_dir_all(local(&stage).parent().unwrap()).unwrap();
    fs::write(local(&stage), "[permissions]\nmode = 'accept-edits'\n").unwrap();
    assert_eq!(permission(), "acceptEdits");
    let below = stage.path("below");
    fs::create_dir(&below).unwrap();
    stage.bosun(["-p", "hi"]).within(&below).run().expect(0);
    assert_eq!(stage.sessions()[0]["cwd"], below.canonicalize().unwrap().to_str().unwrap());
    let ended = stage.bosun(["config", "show", "--setting-sources", "user"]).run().expect(0);
    assert!(ended.stdout.contains("permissions.mode = \"plan\""), "{ended:?}");
}

#[test]
fn rules_are_added_to_the_user_s_own_files() {
    let stage = repository();
    let added = stage.bosun(["config", "allow", "shell(git status)"]).run().expect(0);
    added.says(&["allow shell(git status): written to ", "/projects/work-"]);
    assert_eq!(fs::read_to_string(local(&stage)).unwrap(), "[permissions]\nallow = [\"shell(git status)\"]\n");
    stage.bosun(["config", "allow", "shell(git status)"]).run().expect(0).says(&["already in"]);
    fs::write(stage.home().join("config.toml"), "# mine\nmax-turns = 3 # few\n").unwrap();
    stage.bosun(["config", "deny", "shell(rm *)", "--in", "user"]).run().expect(0);
    assert_eq!(
        fs::read_to_string(stage.home().join("config.toml")).unwrap(),
        "# mine\nmax-turns = 3 # few\n\n[permissions]\ndeny = [\"shell(rm *)\"]\n"
    );
    stage.bosun(["config", "ask", ""]).run().expect(2).says(&["is not a rule"]);
    assert!(!stage.path(".bosun").exists(), "nothing is written into the project");
}

#[test]
fn rules_of_twelve_processes_at_once_are_all_kept() {
    let stage = repository();
    thread::scope(|scope| {
        for n in 0..12 {
            let stage = &stage;
            scope.spawn(move || stage.bosun(["config", "ask", &format!("shell(job{n})")]).run().expect(0));
        }
    });
    assert_eq!(values(&shown(&stage), "permissions.ask").len(), 12);
}

#[test]
fn files_are_checked_without_being_used() {
    let stage = repository();
    fs::write(stage.path("good.toml"), "max-turns = 3\n").unwrap();
    fs::write(stage.path("bad.toml"), "\nturns = 3\n").unwrap();
    let ended = stage.bosun(["config", "check", "good.toml", "bad.toml", "none.toml"]).run().expect(2);
    assert_eq!(ended.stdout, "good.toml: ok\n");
    ended.says(&["bad.toml: line 2: unknown field `turns`", "none.toml does not exist"]);
    fs::create_dir(stage.path(".bosun")).unwrap();
    fs::write(stage.path(".bosun/config.toml"), "[permissions]\nmode = 'yolo'\n").unwrap();
    stage.bosun(["config", "check"]).run().expect(2).says(&[".bosun/config.toml: line 2: `yolo` is not a mode"]);
    let run = stage.script(HELLO).bosun(["-p", "hi"]).run().expect(2);
    run.says(&["line 2: `yolo` is not a mode", "--setting-sources user,local leaves the project's settings out"]);
    stage.bosun(["-p", "hi", "--setting-sources", "user,local"]).run().expect(0);
    stage.bosun(["sessions"]).run().expect(0);
}

#[test]
fn programs_get_what_the_settings_leave_of_the_environment() {
    let stage = repository();
    fs::write(stage.home().join("config.toml"), "[environment]\nhide = ['*_TOKEN']\npass = ['MAPS_API_KEY']\n")
        .unwrap();
    let vars = [
        ("SEARCH_API_KEY", "hidden-by-its-name"),
        ("NPM_TOKEN", "hidden-by-settings"),
        ("MAPS_API_KEY", "passed-by-settings"),
        ("BOSUN_LOG", "error"),
        ("KEPT", "kept"),
    ];
    let go = stage.script(&shell("env > seen.txt; cat seen.txt")).prompt("go");
    let ended = vars.iter().fold(go, |go, (name, value)| go.env(name, value)).run().expect(0);
    let seen = fs::read_to_string(stage.path("seen.txt")).unwrap();
    assert!(seen.contains("KEPT=kept") && seen.contains("MAPS_API_KEY=passed-by-settings"), "{seen}");
    for hidden in ["SEARCH_API_KEY", "NPM_TOKEN", "BOSUN_HOME", "BOSUN_LOG", "BOSUN_MODEL"] {
        assert!(!seen.contains(hidden), "{hidden}: {seen}");
    }
    assert!(ended.stdout.contains("MAPS_API_KEY=[redacted]"), "what is secret is not shown: {ended:?}");
}

#[test]
fn more_folders_can_be_settings() {
    let stage = repository();
    fs::create_dir(stage.path("../notes")).unwrap();
    fs::write(stage.path("../notes/a.txt"), "found in the notes").unwrap();
    fs::write(stage.home().join("config.toml"), "[workspace]\nadd-dirs = ['~/notes']\n").unwrap();
    let file = stage.path("../notes/a.txt").canonicalize().unwrap();
    let rules = json!([
        { "when": { "turn": 1 }, "answer": [{ "call": { "tool": "view", "input": { "path": file } } }] },
        { "answer": [{ "say": "It said: ${answer}" }] },
    ]);
    let script = json!({ "version": 1, "rules": rules }).to_string();
    let ended = stage.script(&script).bosun(["-p", "look"]).run().expect(0);
    assert!(ended.stdout.contains("found in the notes"), "{ended:?}");
    fs::write(stage.home().join("config.toml"), "[workspace]\nadd-dirs = ['~/none']\n").unwrap();
    stage.bosun(["-p", "look"]).run().expect(2).says(&["cannot work in", "none", "named by your settings, "]);
}

/// A rule about a tool that does not exist matches nothing, which its author should know.
#[test]
fn a_typed_rule_about_an_unknown_tool_is_warned_of() {
    let stage = repository();
    let prompt = || stage.script(HELLO).prompt("hi");
    let warned = "warning: the rule `foo(bar)` matches nothing: there is no tool called `foo`";
    prompt().args(["--allow", "foo(bar)"]).run().expect(0).says(&[warned]);
    prompt().args(["--deny", "foo(bar)"]).run().expect(0).says(&[warned]);
    let known = ["shell(ls)", "Bash(ls:*)", "until", "mcp__files__read", "mcp__*"];
    let known = prompt().args(known.iter().flat_map(|rule| ["--allow", rule])).run().expect(0);
    assert!(!known.stderr.contains("warning"), "{known:?}");
}

#[test]
fn the_files_of_other_programs_that_settings_are_read_from_are_listed() {
    let stage = repository();
    let files = stage.bosun(["config", "path", "--json"]).run().expect(0).json();
    let paths: Vec<&str> = files.as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap()).collect();
    for name in [".claude/settings.local.json", ".claude/settings.json"] {
        assert!(paths.iter().any(|path| path.ends_with(name)), "{paths:?}");
    }
    fs::create_dir(stage.path(".claude")).unwrap();
    fs::write(stage.path(".claude/settings.json"), "{}").unwrap();
    stage.bosun(["config", "check"]).run().expect(0);
}

/// A18 and A23: somebody may count on it, so silence would mislead; from the second run on it would be noise.
#[test]
fn what_a_run_does_not_use_is_told_once() {
    let stage = repository();
    fs::write(stage.path(".mcp.json"), "{\"mcpServers\": {}}").unwrap();
    fs::create_dir_all(stage.path(".bosun/agents")).unwrap();
    let agent = "---\ndescription: x\ngithub: { toolsets: [all] }\n---\nDo it.\n";
    fs::write(stage.path(".bosun/agents/theirs.md"), agent).unwrap();
    stage.bosun(["trust", "--yes"]).run().expect(0);
    let run = || {
        let prompt = stage.script(HELLO).prompt("hi").env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1");
        prompt.env("SEARCH_API_KEY", "l").run().expect(0)
    };
    let ran = run();
    assert_eq!(ran.stdout, "Hello.\n", "a key of one letter is not taken out of every word");
    let told = [
        ".mcp.json: this version does not start MCP servers",
        "OTEL_* variables are set, but this version sends no traces",
        "SEARCH_API_KEY is shorter than 8 characters",
    ];
    let ran = ran.says(&told);
    ran.says(&["1 more problem in the catalogue: see `bosun catalog check`"]);
    let checked = stage.bosun(["catalog", "check"]).run().expect(0).stdout;
    assert!(checked.contains("theirs.md:3:1: `github` is not used by this version"), "{checked}");
    let again = run();
    assert_eq!(told.into_iter().find(|words| again.stderr.contains(words)), None, "{again:?}");
}
