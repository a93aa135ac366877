//! Flags are a layer of settings: they change the session, which keeps them.

use std::fs;

use serde_json::{Value, json};
use testkit::binary::BinaryFixture;

use crate::fixture;
use crate::scripts::{HELLO, shell};

/// The view of the newest session.
fn session(fixture: &BinaryFixture) -> Value {
    let shown = fixture.bosun(["sessions", "show", &fixture.newest(), "--json"]).run().expect(0).json();
    shown["session"].clone()
}

#[test]
fn every_name_of_allow_all_allows_all() {
    let fixture = fixture();
    fixture.script(&shell("touch it; printf 'it %s' ran"));
    for flag in ["--allow-all", "--yolo", "--dangerously-skip-permissions", "--permission-mode=allow-all"] {
        let ended = fixture.bosun(["-p", "go", flag]).run().expect(0);
        assert!(ended.stdout.contains("it ran"), "{flag}: {ended:?}");
        assert_eq!(session(&fixture)["permission"], "allowAll");
    }
    let help = fixture.bosun(["--help"]).run().expect(0).stdout;
    assert!(help.contains("--yolo") && help.contains("--dangerously-skip-permissions"), "{help}");
}

#[test]
fn invalid_values_are_refused_with_the_name_of_the_flag() {
    let fixture = fixture();
    fixture.script(HELLO);
    let refused = |args: &[&str], expected: &[&str]| {
        fixture.bosun([&["-p", "hi"], args].concat()).run().expect(2).says(expected);
    };
    refused(&["--allow-all", "--permission-mode", "plan"], &["--allow-all", "cannot be used with"]);
    refused(&["--permission-mode", "careful"], &["--permission-mode", "`careful` is not a mode; write default"]);
    for flag in ["--allow", "--ask", "--deny"] {
        refused(&[flag, " "], &[flag, "is not a rule"]);
    }
    refused(&["--setting-sources", "managed"], &["--setting-sources", "user, project, local"]);
    refused(&["--settings", "{\"turns\": 3}"], &["--settings: line 1: unknown field `turns`"]);
    refused(&["--settings", "none.toml"], &["--settings names none.toml, which does not exist"]);
    refused(&["--settings", "{\"managed\": {\"forbid\": []}}"], &["a `managed` table is not allowed here"]);
    refused(&["--ask-wait", "3d"], &["--ask-wait", "unknown unit", "forever"]);
    refused(&["--add-dir", "none"], &["cannot use the folder", "none", "the command line"]);
    refused(&["--max-turns", "0"], &["--max-turns", "it must be a whole number above 0"]);
    refused(&["--max-tokens-total", "many"], &["--max-tokens-total", "it must be a whole number above 0"]);
    refused(&["--max-agents", "9999"], &["--max-agents", "it must be a whole number from 1 to 4096"]);
    refused(&["--max-budget-usd", "-1"], &["--max-budget-usd", "`-1` is not an amount of dollars"]);
    assert!(fixture.sessions().is_empty());
}

#[test]
fn sources_of_mcp_servers_that_cannot_be_read_are_refused() {
    let fixture = fixture();
    fixture.script(HELLO);
    let help = fixture.bosun(["--help"]).run().expect(0).stdout;
    assert!(help.contains("--mcp-config") && help.contains("--strict-mcp-config"), "{help}");
    for (source, expected) in [
        ("none.json", "there is no such file"),
        ("{}", "--mcp-config: it has no `mcpServers`"),
        ("{\"mcpServers\": {\"a\": 5}}", "line 1"),
    ] {
        fixture.bosun(["-p", "hi", "--mcp-config", source]).run().expect(2).says(&[expected]);
    }
    assert!(fixture.sessions().is_empty());
}

#[test]
fn resumed_session_keeps_mode_rules_folders_and_ask_setting() {
    for mode in ["default", "accept-edits", "plan", "allow-all"] {
        let fixture = fixture();
        fs::create_dir(fixture.path("../more")).unwrap();
        let first = [
            "-p",
            "hi",
            "--permission-mode",
            mode,
            "--deny",
            "shell(rm *)",
            "--allow",
            "shell(ls)",
            "--add-dir",
            "../more",
            "--no-ask-user",
        ];
        fixture.script(HELLO).bosun(first).run().expect(0);
        let before = session(&fixture);
        assert_eq!(before["askUser"], false);
        assert_eq!(before["roots"], json!([fixture.path("../more").canonicalize().unwrap()]));
        for resume in [&["--continue"][..], &["--resume", &fixture.newest()], &["--continue", "--fork"]] {
            fixture.bosun([&["-p", "again"], resume].concat()).run().expect(0);
            let after = session(&fixture);
            for key in ["permission", "rules", "roots", "askUser", "model"] {
                assert_eq!(after[key], before[key], "{mode}: {key}");
            }
        }
        fixture.bosun(["--continue", "-p", "more", "--ask", "fetch", "--deny", "shell(rm *)"]).run().expect(0);
        let rule = |effect: &str, rule: &str| json!({ "effect": effect, "rule": rule });
        let rules = json!([rule("deny", "shell(rm *)"), rule("allow", "shell(ls)"), rule("ask", "fetch")]);
        assert_eq!(session(&fixture)["rules"], rules, "flags add to its rules");
        fixture.bosun(["--continue", "-p", "less", "--permission-mode", "plan"]).run().expect(0);
        assert_eq!(session(&fixture)["permission"], "plan", "a mode replaces the previous one");
    }
}

#[test]
fn settings_of_a_file_or_an_object_are_weaker_than_flags() {
    let fixture = fixture();
    fixture.script(&shell("touch it; printf 'it %s' ran"));
    let ran = |args: &[&str]| fixture.bosun([&["-p", "go"], args].concat()).run().expect(0).stdout.contains("it ran");
    let all = r#"{"permissions": {"mode": "allow-all"}}"#;
    assert!(ran(&["--settings", all]));
    assert!(!ran(&["--settings", all, "--permission-mode", "plan"]));
    fs::write(fixture.path("extra.toml"), "[permissions]\nmode = 'allow-all'\n").unwrap();
    fs::write(fixture.path("extra.json"), all).unwrap();
    assert!(ran(&["--settings", "extra.toml"]) && ran(&["--settings", "extra.json"]));
}

#[test]
fn mode_forbidden_by_a_managed_file_is_refused() {
    let fixture = fixture();
    let managed = fixture.path("../managed.toml");
    fs::write(&managed, "[managed]\nforbid = ['allow-all']\n").unwrap();
    fixture.script(HELLO).prompt("begun before").run().expect(0);
    let id = fixture.newest();
    let refused = |args: &[&str], asked: &str| {
        let ended = fixture.bosun([&["-p", "hi"], args].concat()).env("BOSUN_MANAGED", &managed).run().expect(2);
        ended.says(&["forbids the mode allow-all", "managed.toml", asked]);
    };
    refused(&["--yolo"], "the command line");
    refused(&["--permission-mode", "allow-all"], "the command line");
    refused(&["--resume", &id], "the session");
    let other = ["-p", "hi", "--resume", &id, "--permission-mode", "plan"];
    fixture.bosun(other).env("BOSUN_MANAGED", &managed).run().expect(0);
    refused(&["--settings", r#"{"permissions": {"mode": "allow-all"}}"#], "--settings");
    fs::write(fixture.home().join("config.toml"), "[permissions]\nmode = 'allow-all'\n").unwrap();
    refused(&[], "your settings, ");
    refused(&["--permission-mode", "plan"], "your settings, ");
    fs::remove_file(fixture.home().join("config.toml")).unwrap();
    fixture.bosun(["-p", "hi"]).env("BOSUN_MANAGED", &managed).run().expect(0);
    fixture
        .bosun(["-p", "hi"])
        .env("BOSUN_MANAGED", "none.toml")
        .run()
        .expect(2)
        .says(&["BOSUN_MANAGED names none.toml"]);
}

#[test]
fn managed_value_overrides_flags() {
    let fixture = fixture();
    let managed = fixture.path("../managed.toml");
    fs::write(fixture.path("other.yaml"), HELLO.replace("Hello", "Other")).unwrap();
    fs::write(&managed, "model = 'script/other.yaml'\n").unwrap();
    let model = format!("script/{}", fixture.script(HELLO).script_path().display());
    let ended = fixture.bosun(["-p", "hi", "--model", &model]).env("BOSUN_MANAGED", &managed).run().expect(0);
    assert_eq!(ended.stdout, "Other.\n");
}
