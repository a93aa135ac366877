//! `bosun config`, and settings from every file.

use std::fs;
use std::path::PathBuf;
use std::thread;

use serde_json::{Value, json};
use testkit::binary::BinaryFixture;

use crate::fixture;
use crate::scripts::{HELLO, shell};

/// A fixture whose folder is a repository, and whose home exists.
fn repository() -> BinaryFixture {
    let fixture = fixture();
    fs::create_dir(fixture.home()).unwrap();
    fs::create_dir(fixture.path(".git")).unwrap();
    fixture
}

fn shown(fixture: &BinaryFixture) -> Value {
    fixture.bosun(["config", "show", "--json"]).run().expect(0).json()
}

fn values<'a>(shown: &'a Value, key: &str) -> Vec<(&'a Value, &'a str)> {
    let all = shown["settings"].as_array().unwrap().iter().filter(|setting| setting["key"] == key);
    all.map(|setting| (&setting["value"], setting["origin"].as_str().unwrap())).collect()
}

fn local(fixture: &BinaryFixture) -> PathBuf {
    let files = fixture.bosun(["config", "path", "--json"]).run().expect(0).json();
    let file = files.as_array().unwrap().iter().find(|file| file["layer"] == "local").unwrap().clone();
    file["path"].as_str().unwrap().into()
}

#[test]
fn every_value_is_shown_with_its_origin() {
    let fixture = repository();
    fs::write(fixture.home().join("config.toml"), "max-turns = 7\n[permissions]\ndeny = ['shell(rm *)']\n").unwrap();
    fs::create_dir_all(local(&fixture).parent().unwrap()).unwrap();
    fs::write(local(&fixture), "[permissions]\nmode = 'accept-edits'\nask = ['fetch']\n").unwrap();
    let all = shown(&fixture);
    let [(turns, user)] = values(&all, "max-turns")[..] else { panic!("{all}") };
    assert!(*turns == 7 && user.starts_with("your settings, /"), "{user}");
    assert!(values(&all, "permissions.mode")[0].1.starts_with("your settings for this project, "));
    assert_eq!(values(&all, "limits.live"), [(&json!(32), "built in")]);
    assert_eq!(values(&all, "model")[0].1, "BOSUN_MODEL");
    assert_eq!((&all["trust"], &all["ignored"]), (&json!("untrusted"), &json!([])));
    let reach = all["outOfReach"].to_string();
    assert!(["/home\"", "/work/.bosun\"", "/work/.mcp.json\""].iter().all(|path| reach.contains(path)), "{reach}");
    fs::write(fixture.path("extra.toml"), "").unwrap();
    let given = fixture.bosun(["config", "show", "--json", "--settings", "extra.toml"]).run().expect(0).json();
    assert!(
        given["outOfReach"].to_string().contains("/work/extra.toml\""),
        "a settings file given as a flag is protected"
    );
    let text = fixture.bosun(["config", "show", "--origin", "--deny", "edit"]).run().expect(0).stdout;
    assert!(text.contains("max-turns = 7  # your settings, "), "{text}");
    assert!(text.contains("permissions.deny = \"edit\"  # the command line\n"), "{text}");
    let plain = fixture.bosun(["config", "show"]).run().expect(0).stdout;
    assert!(plain.contains("permissions.deny = \"shell(rm *)\"\n"), "{plain}");
}

#[test]
fn the_doctor_and_a_run_see_the_same_model_and_folders() {
    let fixture = repository();
    let managed = fixture.path("managed.toml");
    fs::write(&managed, "model = 'script/other.yaml'\n").unwrap();
    fs::write(fixture.path("other.yaml"), HELLO).unwrap();
    let bosun = |args: &[&str]| fixture.bosun(args).env("BOSUN_MANAGED", managed.to_str().unwrap());
    assert_eq!(bosun(&["-p", "hi"]).run().expect(0).stdout, "Hello.\n");
    let report = bosun(&["doctor", "--json"]).env("OLLAMA_HOST", "http://10.0.0.1").run().json();
    assert!(report.to_string().contains("script/other.yaml is usable"), "{report}");
    fs::write(&managed, "[workspace]\nadd-dirs = ['/nowhere']\n").unwrap();
    fixture.script(HELLO);
    bosun(&["-p", "hi"]).run().expect(2).says(&["cannot use the folder /nowhere from "]);
    let report = bosun(&["doctor", "--json"]).env("OLLAMA_HOST", "http://10.0.0.1").run().expect(1).json();
    assert!(report.to_string().contains("cannot use the folder /nowhere from "), "{report}");
}

#[test]
fn files_are_checked_together_too() {
    let fixture = repository();
    fs::create_dir(fixture.path(".bosun")).unwrap();
    fs::write(fixture.path(".bosun/config.toml"), "[managed]\nforbid = []\n").unwrap();
    fixture.bosun(["config", "check"]).run().expect(2).says(&["a `managed` table is not allowed here"]);
}

#[test]
fn resumed_session_drops_a_missing_folder() {
    let fixture = repository();
    fixture.script(HELLO);
    let more = fixture.home().parent().unwrap().join("more");
    fs::create_dir(&more).unwrap();
    fixture.bosun(["-p", "hi", "--add-dir", more.to_str().unwrap()]).run().expect(0);
    fs::remove_dir(&more).unwrap();
    let ended = fixture.bosun(["--continue", "-p", "again"]).run().expect(0);
    assert!(ended.stderr.contains("from the session: No such file"), "{}", ended.stderr);
    let ended = fixture.bosun(["--continue", "-p", "again"]).run().expect(0);
    assert!(!ended.stderr.contains("cannot use the folder"), "it is reported once: {}", ended.stderr);
}

#[test]
fn a_session_takes_its_mode_from_the_strongest_file() {
    let fixture = repository();
    fixture.script(HELLO);
    let permission = || {
        fixture.bosun(["-p", "hi"]).run().expect(0);
        let id = fixture.newest();
        fixture.bosun(["sessions", "show", &id, "--json"]).run().expect(0).json()["session"]["permission"].clone()
    };
    fs::write(fixture.home().join("config.toml"), "[permissions]\nmode = 'plan'\n").unwrap();
    assert_eq!(permission(), "plan");
    fs::create_dir_all(local(&fixture).parent().unwrap()).unwrap();
    fs::write(local(&fixture), "[permissions]\nmode = 'accept-edits'\n").unwrap();
    assert_eq!(permission(), "acceptEdits");
    let below = fixture.path("below");
    fs::create_dir(&below).unwrap();
    fixture.bosun(["-p", "hi"]).within(&below).run().expect(0);
    assert_eq!(fixture.sessions()[0]["cwd"], below.canonicalize().unwrap().to_str().unwrap());
    let ended = fixture.bosun(["config", "show", "--setting-sources", "user"]).run().expect(0);
    assert!(ended.stdout.contains("permissions.mode = \"plan\""), "{ended:?}");
}

#[test]
fn rules_are_added_to_the_user_s_own_files() {
    let fixture = repository();
    let added = fixture.bosun(["config", "allow", "shell(git status)"]).run().expect(0);
    let added = added.says(&["allow shell(git status): written to ", "/projects/work-"]);
    assert_eq!(fs::read_to_string(local(&fixture)).unwrap(), "[permissions]\nallow = [\"shell(git status)\"]\n");
    assert!(!added.stderr.contains("warning"), "{}", added.stderr);
    fixture.bosun(["config", "allow", "shell(git status)"]).run().expect(0).says(&["already in"]);
    fixture.bosun(["config", "allow", "foo(bar)"]).run().expect(0).says(&["warning: it matches nothing", "`foo`"]);
    fs::write(fixture.home().join("config.toml"), "# mine\nmax-turns = 3 # few\n").unwrap();
    fixture.bosun(["config", "deny", "shell(rm *)", "--in", "user"]).run().expect(0);
    assert_eq!(
        fs::read_to_string(fixture.home().join("config.toml")).unwrap(),
        "# mine\nmax-turns = 3 # few\n\n[permissions]\ndeny = [\"shell(rm *)\"]\n"
    );
    fixture.bosun(["config", "ask", ""]).run().expect(2).says(&["is not a rule"]);
    assert!(!fixture.path(".bosun").exists(), "nothing is written into the project");
}

#[test]
fn rules_of_twelve_processes_at_once_are_all_kept() {
    let fixture = repository();
    thread::scope(|scope| {
        for n in 0..12 {
            let fixture = &fixture;
            scope.spawn(move || fixture.bosun(["config", "ask", &format!("shell(job{n})")]).run().expect(0));
        }
    });
    assert_eq!(values(&shown(&fixture), "permissions.ask").len(), 12);
}

#[test]
fn files_are_checked_without_being_used() {
    let fixture = repository();
    fs::write(fixture.path("good.toml"), "max-turns = 3\n").unwrap();
    fs::write(fixture.path("bad.toml"), "\nturns = 3\n").unwrap();
    let ended = fixture.bosun(["config", "check", "good.toml", "bad.toml", "none.toml"]).run().expect(2);
    assert_eq!(ended.stdout, "good.toml: ok\n");
    ended.says(&["bad.toml: line 2: unknown field `turns`", "none.toml does not exist"]);
    fs::create_dir(fixture.path(".bosun")).unwrap();
    fs::write(fixture.path(".bosun/config.toml"), "[permissions]\nmode = 'yolo'\n").unwrap();
    fixture.bosun(["config", "check"]).run().expect(2).says(&[".bosun/config.toml: line 2: `yolo` is not a mode"]);
    let run = fixture.script(HELLO).bosun(["-p", "hi"]).run().expect(2);
    run.says(&["line 2: `yolo` is not a mode", "--setting-sources user,local leaves the project's settings out"]);
    fixture.bosun(["-p", "hi", "--setting-sources", "user,local"]).run().expect(0);
    fixture.bosun(["sessions"]).run().expect(0);
}

#[test]
fn environment_settings_filter_variables_of_programs() {
    let fixture = repository();
    fs::write(fixture.home().join("config.toml"), "[environment]\nhide = ['*_TOKEN']\npass = ['MAPS_API_KEY']\n")
        .unwrap();
    let vars = [
        ("SEARCH_API_KEY", "hidden-by-its-name"),
        ("NPM_TOKEN", "hidden-by-settings"),
        ("MAPS_API_KEY", "passed-by-settings"),
        ("BOSUN_LOG", "error"),
        ("KEPT", "kept"),
    ];
    let go = fixture.script(&shell("env > seen.txt; cat seen.txt")).prompt("go");
    let ended = vars.iter().fold(go, |go, (name, value)| go.env(name, value)).run().expect(0);
    let seen = fs::read_to_string(fixture.path("seen.txt")).unwrap();
    assert!(seen.contains("KEPT=kept") && seen.contains("MAPS_API_KEY=passed-by-settings"), "{seen}");
    for hidden in ["SEARCH_API_KEY", "NPM_TOKEN", "BOSUN_HOME", "BOSUN_LOG", "BOSUN_MODEL"] {
        assert!(!seen.contains(hidden), "{hidden}: {seen}");
    }
    assert!(ended.stdout.contains("MAPS_API_KEY=[redacted]"), "secrets are not shown: {ended:?}");
}

#[test]
fn settings_can_add_folders() {
    let fixture = repository();
    fs::create_dir(fixture.path("../notes")).unwrap();
    fs::write(fixture.path("../notes/a.txt"), "found in the notes").unwrap();
    fs::write(fixture.home().join("config.toml"), "[workspace]\nadd-dirs = ['~/notes']\n").unwrap();
    let file = fixture.path("../notes/a.txt").canonicalize().unwrap();
    let rules = json!([
        { "when": { "turn": 1 }, "answer": [{ "call": { "tool": "view", "input": { "path": file } } }] },
        { "answer": [{ "say": "It said: ${answer}" }] },
    ]);
    let script = json!({ "version": 1, "rules": rules }).to_string();
    let ended = fixture.script(&script).bosun(["-p", "look"]).run().expect(0);
    assert!(ended.stdout.contains("found in the notes"), "{ended:?}");
    fs::write(fixture.home().join("config.toml"), "[workspace]\nadd-dirs = ['~/none']\n").unwrap();
    fixture.bosun(["-p", "look"]).run().expect(2).says(&["cannot use the folder", "none", "from your settings, "]);
}

/// A rule about a tool that does not exist matches nothing, which its author should know.
#[test]
fn rule_flag_with_an_unknown_tool_is_warned_about() {
    let fixture = repository();
    let prompt = || fixture.script(HELLO).prompt("hi");
    let warned = "warning: the rule `foo(bar)` matches nothing: there is no tool called `foo`";
    prompt().args(["--allow", "foo(bar)"]).run().expect(0).says(&[warned]);
    prompt().args(["--deny", "foo(bar)"]).run().expect(0).says(&[warned]);
    let known = ["shell(ls)", "Bash(ls:*)", "until", "mcp__files__read", "mcp__*"];
    let known = prompt().args(known.iter().flat_map(|rule| ["--allow", rule])).run().expect(0);
    assert!(!known.stderr.contains("warning"), "{known:?}");
}

#[test]
fn settings_files_of_other_programs_are_listed() {
    let fixture = repository();
    let files = fixture.bosun(["config", "path", "--json"]).run().expect(0).json();
    let paths: Vec<&str> = files.as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap()).collect();
    for name in [".claude/settings.local.json", ".claude/settings.json"] {
        assert!(paths.iter().any(|path| path.ends_with(name)), "{paths:?}");
    }
    fs::create_dir(fixture.path(".claude")).unwrap();
    fs::write(fixture.path(".claude/settings.json"), "{}").unwrap();
    fixture.bosun(["config", "check"]).run().expect(0);
}

/// Silence would mislead users who rely on these settings; from the second run on, notices would be noise.
#[test]
fn unused_settings_are_reported_once() {
    let fixture = repository();
    fs::create_dir_all(fixture.path(".bosun/agents")).unwrap();
    let agent = "---\ndescription: x\ngithub: { toolsets: [all] }\n---\nDo it.\n";
    fs::write(fixture.path(".bosun/agents/theirs.md"), agent).unwrap();
    fixture.bosun(["trust", "--yes"]).run().expect(0);
    let run = || {
        let prompt = fixture.script(HELLO).prompt("hi").env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1");
        prompt.env("SEARCH_API_KEY", "l").run().expect(0)
    };
    let ran = run();
    assert_eq!(ran.stdout, "Hello.\n", "a key of one letter is not taken out of every word");
    let notices =
        ["OTEL_* variables are set, but this version sends no traces", "SEARCH_API_KEY is shorter than 8 characters"];
    let ran = ran.says(&notices);
    ran.says(&["1 problem in the catalogue: see `bosun catalog check`"]);
    let checked = fixture.bosun(["catalog", "check"]).run().expect(0).stdout;
    assert!(checked.contains("theirs.md:3:1: `github` is not used by this version"), "{checked}");
    let again = run();
    assert_eq!(notices.into_iter().find(|expected| again.stderr.contains(expected)), None, "{again:?}");
}
