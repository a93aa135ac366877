//! Flags are a layer of settings: they change the session, and stay with it.

use std::fs;

use serde_json::{Value, json};
use testkit::binary::BinaryFixture;

use crate::scripts::{HELLO, shell};
use crate::stage;

/// What a session says of itself.
fn session(stage: &BinaryFixture) -> Value {
    let shown = stage.bosun(["sessions", "show", &stage.newest(), "--json"]).run().expect(0).json();
    shown["session"].clone()
}

#[test]
fn every_name_of_allow_all_allows_all() {
    let stage = stage();
    stage.script(&shell("touch it; printf 'it %s' ran"));
    for flag in ["--allow-all", "--yolo", "--dangerously-skip-permissions", "--permission-mode=allow-all"] {
        let ended = stage.bosun(["-p", "go", flag]).run().expect(0);
        assert!(ended.stdout.contains("it ran"), "{flag}: {ended:?}");
        assert_eq!(session(&stage)["permission"], "allowAll");
    }
    let help = stage.bosun(["--help"]).run().expect(0).stdout;
    assert!(help.contains("--yolo") && help.contains("--dangerously-skip-permissions"), "{help}");
}

#[test]
fn what_cannot_be_meant_is_refused_by_the_name_of_its_flag() {
    let stage = stage();
    stage.script(HELLO);
    let refused = |args: &[&str], words: &[&str]| {
        stage.bosun([&["-p", "hi"], args].concat()).run().expect(2).says(words);
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
    refused(&["--ask-wait", "3d"], &["--ask-wait", "unknown unit", "for-ever"]);
    refused(&["--add-dir", "none"], &["cannot work in", "none", "the command line"]);
    assert!(stage.sessions().is_empty());
}

#[test]
fn flags_of_later_features_say_so_and_none_is_ignored() {
    let stage = stage();
    stage.script(HELLO);
    let later = [&["--mcp-config", "x"][..], &["--strict-mcp-config"]];
    let help = stage.bosun(["--help"]).run().expect(0).stdout;
    for args in later {
        let refused = stage.bosun([&["-p", "hi"], args].concat()).run().expect(2);
        refused.says(&[&format!("{} is not supported yet", args[0])]);
        assert!(help.contains(args[0]), "{help}");
    }
    assert!(stage.sessions().is_empty());
}

#[test]
fn a_session_that_goes_on_has_the_mode_rules_folders_and_silence_it_had() {
    for mode in ["default", "accept-edits", "plan", "allow-all"] {
        let stage = stage();
        fs::create_dir(stage.path("../more")).unwrap();
        let begun = [
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
        stage.script(HELLO).bosun(begun).run().expect(0);
        let before = session(&stage);
        assert_eq!(before["askUser"], false);
        assert_eq!(before["roots"], json!([stage.path("../more").canonicalize().unwrap()]));
        for goes_on in [&["--continue"][..], &["--resume", &stage.newest()], &["--continue", "--fork"]] {
            stage.bosun([&["-p", "again"], goes_on].concat()).run().expect(0);
            let after = session(&stage);
            for key in ["permission", "rules", "roots", "askUser", "model"] {
                assert_eq!(after[key], before[key], "{mode}: {key}");
            }
        }
        stage.bosun(["--continue", "-p", "more", "--ask", "fetch", "--deny", "shell(rm *)"]).run().expect(0);
        let rule = |effect: &str, rule: &str| json!({ "effect": effect, "rule": rule });
        let rules = json!([rule("deny", "shell(rm *)"), rule("allow", "shell(ls)"), rule("ask", "fetch")]);
        assert_eq!(session(&stage)["rules"], rules, "flags add to what it has");
        stage.bosun(["--continue", "-p", "less", "--permission-mode", "plan"]).run().expect(0);
        assert_eq!(session(&stage)["permission"], "plan", "and a mode takes the place of another");
    }
}

#[test]
fn settings_of_a_file_or_an_object_are_weaker_than_flags() {
    let stage = stage();
    stage.script(&shell("touch it; printf 'it %s' ran"));
    let ran = |args: &[&str]| stage.bosun([&["-p", "go"], args].concat()).run().expect(0).stdout.contains("it ran");
    let all = r#"{"permissions": {"mode": "allow-all"}}"#;
    assert!(ran(&["--settings", all]));
    assert!(!ran(&["--settings", all, "--permission-mode", "plan"]));
    fs::write(stage.path("extra.toml"), "[permissions]\nmode = 'allow-all'\n").unwrap();
    fs::write(stage.path("extra.json"), all).unwrap();
    assert!(ran(&["--settings", "extra.toml"]) && ran(&["--settings", "extra.json"]));
}

#[test]
fn what_a_managed_file_forbids_is_refused_with_its_name() {
    let stage = stage();
    let managed = stage.path("../managed.toml");
    fs::write(&managed, "[managed]\nforbid = ['allow-all']\n").unwrap();
    stage.script(HELLO).prompt("begun before").run().expect(0);
    let id = stage.newest();
    let refused = |args: &[&str], asked: &str| {
        let ended = stage.bosun([&["-p", "hi"], args].concat()).env("BOSUN_MANAGED", &managed).run().expect(2);
        ended.says(&["forbids the mode allow-all", "managed.toml", asked]);
    };
    refused(&["--yolo"], "the command line");
    refused(&["--permission-mode", "allow-all"], "the command line");
    refused(&["--resume", &id], "the session");
    let other = ["-p", "hi", "--resume", &id, "--permission-mode", "plan"];
    stage.bosun(other).env("BOSUN_MANAGED", &managed).run().expect(0);
    refused(&["--settings", r#"{"permissions": {"mode": "allow-all"}}"#], "--settings");
    fs::write(stage.home().join("config.toml"), "[permissions]\nmode = 'allow-all'\n").unwrap();
    refused(&[], "your settings, ");
    refused(&["--permission-mode", "plan"], "your settings, ");
    fs::remove_file(stage.home().join("config.toml")).unwrap();
    stage.bosun(["-p", "hi"]).env("BOSUN_MANAGED", &managed).run().expect(0);
    stage
        .bosun(["-p", "hi"])
        .env("BOSUN_MANAGED", "none.toml")
        .run()
        .expect(2)
        .says(&["BOSUN_MANAGED names none.toml"]);
}

#[test]
fn a_managed_value_stands_above_flags() {
    let stage = stage();
    let managed = stage.path("../managed.toml");
    fs::write(stage.path("other.yaml"), HELLO.replace("Hello", "Other")).unwrap();
    fs::write(&managed, "model = 'script/other.yaml'\n").unwrap();
    let model = format!("script/{}", stage.script(HELLO).script_path().display());
    let ended = stage.bosun(["-p", "hi", "--model", &model]).env("BOSUN_MANAGED", &managed).run().expect(0);
    assert_eq!(ended.stdout, "Other.\n");
}
