//! The doctor: what it finds, what it says to do, and that it leaves everything as it was.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use testkit::binary::{BinaryExit, BinaryFixture};

use crate::scripts::{HELLO, turns};
use crate::{BOSUN, stage};

/// The checks about a topic, as `status text remedy`.
fn about(report: &Value, topic: &str) -> Vec<String> {
    let checks = report["checks"].as_array().unwrap().iter().filter(|check| check["topic"] == topic);
    let word = |check: &Value, key: &str| check[key].as_str().unwrap_or("-").to_owned();
    checks.map(|check| ["status", "text", "remedy"].map(|key| word(check, key)).join(" | ")).collect()
}

#[track_caller]
fn says(report: &Value, topic: &str, words: &[&str]) {
    let found = about(report, topic);
    let all = |check: &String| words.iter().all(|words| check.contains(words));
    assert!(found.iter().any(all), "{topic} does not say {words:?}: {found:#?}");
}

/// The machine's own servers are left alone.
fn doctor(stage: &BinaryFixture, code: i32) -> Value {
    alone(stage).run().expect(code).json()
}

fn alone(stage: &BinaryFixture) -> testkit::binary::BinaryInvocation {
    stage.bosun(["doctor", "--json"]).env("OLLAMA_HOST", "http://10.0.0.1")
}

fn words(ended: &BinaryExit) -> &str {
    &ended.stdout
}

#[expect(clippy::disallowed_methods, reason = "a test stands outside what it tests")]
fn git(stage: &BinaryFixture, args: &[&str]) {
    let mut git = Command::new("git");
    git.args(args).current_dir(stage.folder()).env("HOME", stage.home().parent().unwrap());
    assert!(git.output().unwrap().status.success(), "git {args:?}");
}

/// Every file below with its size, mode and time; SQLite's shared memory is not a file that anybody keeps.
fn tree(folder: &Path) -> BTreeMap<String, (u64, u32, i64, i64)> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let (path, meta) = entry.map(|entry| (entry.path(), entry.metadata().unwrap())).unwrap();
        if !path.to_string_lossy().ends_with("-shm") {
            found.insert(path.display().to_string(), (meta.len(), meta.mode(), meta.mtime(), meta.mtime_nsec()));
        }
        if meta.is_dir() {
            found.extend(tree(&path));
        }
    }
    found
}

#[test]
fn a_healthy_place_is_said_to_be_one() {
    let stage = stage();
    stage.script(HELLO).prompt("hi").run().expect(0);
    let report = doctor(&stage, 0);
    assert_eq!(report["fail"], 0, "{report:#}");
    says(&report, "model", &["ok", "script/", "is usable"]);
    says(&report, "sessions", &["ok", "1, "]);
    says(&report, "versions", &["bosun", "SQLite", "kernel"]);
    says(&report, "sandbox", &["warn", "without a sandbox", "comes later"]);
    says(&report, "keys", &["warn", "ANTHROPIC_API_KEY", "bosun demo"]);
    let remedies = report["checks"].as_array().unwrap().iter().filter(|check| check["status"] != "ok");
    assert!(remedies.into_iter().all(|check| check["remedy"].as_str().is_some_and(|text| !text.is_empty())));
}

#[test]
fn for_people_there_is_one_line_each_and_a_remedy_below_what_is_not_right() {
    let stage = stage();
    let ended = stage.bosun(["doctor"]).without_env("BOSUN_MODEL").run().expect(0).says(&["ok,", "0 failed"]);
    let told: Vec<&str> = words(&ended).lines().collect();
    let at = told.iter().position(|line| line.starts_with("warn  model ")).unwrap();
    assert!(told[at + 1].trim_start().contains("give one with --model"), "{told:#?}");
    assert!(told.iter().all(|line| !line.contains('\u{1b}')), "{told:#?}");
}

#[test]
fn it_leaves_everything_as_it_was_and_makes_nothing() {
    let stage = stage();
    doctor(&stage, 1);
    assert!(!stage.home().exists(), "no home is made");
    stage.script(&turns(5));
    stage.prompt("at work").env("BOSUN_FAULT", "after-commit:12").discard_output().run().expect_killed();
    git(&stage, &["init", "-q"]);
    fs::write(stage.path("new"), "").unwrap();
    let base = stage.home().parent().unwrap().to_owned();
    let before = tree(&base);
    let report = doctor(&stage, 0);
    says(&report, "sessions", &["warn", "was at work when its process ended", "bosun --resume"]);
    says(&report, "git", &["ok", "1 changed file"]);
    assert_eq!(tree(&base), before);
}

#[test]
fn a_broken_config_is_reported_and_the_rest_is_looked_at_all_the_same() {
    let stage = stage();
    stage.script(HELLO);
    fs::create_dir(stage.home()).unwrap();
    fs::set_permissions(stage.home(), Permissions::from_mode(0o700)).unwrap();
    fs::write(stage.home().join("config.toml"), "model = 'x/y'\nturns = 3\n").unwrap();
    let report = doctor(&stage, 1);
    says(&report, "config", &["fail", "config.toml: line 2", "unknown field `turns`", "correct"]);
    says(&report, "model", &["ok"]);
    fs::write(stage.home().join("config.toml"), "").unwrap();
    let report = alone(&stage).env("OPENAI_BASE_URL", "nowhere").run().expect(1).json();
    says(&report, "providers", &["fail", "OPENAI_BASE_URL has no scheme"]);
    says(&report, "versions", &["ok"]);
}

#[test]
fn keys_are_named_by_their_variable_and_never_shown() {
    let stage = stage();
    let with_keys = |args: &[&str]| {
        stage
            .bosun(args)
            .env("OLLAMA_HOST", "http://10.0.0.1")
            .env("ANTHROPIC_API_KEY", "sk-very-secret")
            .env("HTTPS_PROXY", "http://me:sk-very-secret@proxy")
            .env("BOSUN_MODEL", "openai/gpt-none")
            .run()
            .expect(1)
    };
    let report = with_keys(&["doctor", "--json"]).json();
    says(&report, "keys", &["ok", "anthropic (ANTHROPIC_API_KEY)"]);
    says(&report, "model", &["fail", "OPENAI_API_KEY"]);
    says(&report, "environment", &["HTTPS_PROXY"]);
    assert!(!with_keys(&["doctor"]).stdout.contains("sk-very-secret"));
    assert!(!report.to_string().contains("sk-very-secret"));
}

#[test]
fn homes_that_cannot_be_used_are_reported() {
    let stage = BinaryFixture::of_ordinary_user(BOSUN);
    let nowhere = alone(&stage).without_env("HOME").without_env("BOSUN_HOME").run().expect(1).json();
    says(&nowhere, "home", &["fail", "neither BOSUN_HOME nor HOME is set", "set BOSUN_HOME"]);
    let report = alone(&stage).env("BOSUN_HOME", "/").run().expect(1).json();
    says(&report, "home", &["fail", "open to other users", "set BOSUN_HOME"]);
    let theirs = stage.path("theirs");
    fs::create_dir(&theirs).unwrap();
    fs::set_permissions(&theirs, Permissions::from_mode(0o555)).unwrap();
    let report = alone(&stage).env("BOSUN_HOME", theirs.join("home")).run().expect(1).json();
    says(&report, "home", &["fail", "no permission", "BOSUN_HOME"]);
    fs::write(stage.path("file"), "").unwrap();
    let report = alone(&stage).env("BOSUN_HOME", stage.path("file/below")).run().expect(1).json();
    says(&report, "home", &["fail", "is not a directory"]);
}

#[test]
fn sessions_that_cannot_be_read_are_named_with_what_to_do() {
    let stage = stage();
    stage.script(HELLO).prompt("one").run().expect(0);
    let damaged = stage.newest();
    stage.prompt("two").run().expect(0);
    let newer = stage.newest();
    fs::write(stage.session_db(&damaged), "not a database at all, but long enough to look at").unwrap();
    testkit::binary::set_format(&stage.session_db(&newer), 99);
    let report = doctor(&stage, 0);
    says(&report, "sessions", &["warn", &damaged, "damaged", "bosun sessions rm"]);
    says(&report, "sessions", &["warn", &newer, "a newer Bosun wrote it"]);
}

#[test]
fn a_repository_that_names_programs_runs_none_of_them() {
    let stage = stage();
    git(&stage, &["init", "-q"]);
    let witness = stage.path("witness");
    let run = format!("touch {}", witness.display());
    fs::write(stage.path("a.txt"), "a").unwrap();
    git(&stage, &["add", "a.txt"]);
    fs::write(stage.path("a.txt"), "b").unwrap();
    fs::write(stage.path(".gitattributes"), "*.txt filter=evil\n").unwrap();
    for setting in ["filter.evil.clean", "core.fsmonitor", "core.sshCommand", "core.pager", "alias.status"] {
        git(&stage, &["config", setting, &run]);
    }
    let report = doctor(&stage, 1);
    says(&report, "git", &["ok", "not counted", "programs that git would run"]);
    assert!(!witness.exists());
    for setting in ["filter.evil.clean", "core.fsmonitor", "core.sshCommand"] {
        git(&stage, &["config", "--unset", setting]);
    }
    says(&doctor(&stage, 1), "git", &["ok", "2 changed files"]);
    // What the user set for himself is the user's.
    git(&stage, &["config", "--global", "filter.lfs.clean", "true"]);
    says(&doctor(&stage, 1), "git", &["ok", "2 changed files"]);
    assert!(!witness.exists());
}

#[test]
fn files_of_other_programs_are_found_and_said_to_be_ignored_or_to_come_later() {
    let stage = stage();
    for file in [".mcp.json", ".github/hooks/a.json", ".claude/agents/b.md"] {
        fs::create_dir_all(stage.path(file).parent().unwrap()).unwrap();
        fs::write(stage.path(file), "{}").unwrap();
    }
    fs::write(stage.path("AGENTS.md"), "x".repeat(40_000)).unwrap();
    let report = doctor(&stage, 1);
    says(&report, "later", &[".mcp.json", "not supported by Bosun yet"]);
    says(&report, "agents", &["warn", ".claude/agents/b.md", "ignored", "bosun trust"]);
    says(&report, "agents", &["warn", ".github/hooks/a.json", "ignored", "bosun trust"]);
    says(&report, "instructions", &["ok", "AGENTS.md"]);
    says(&report, "instructions", &["warn", "AGENTS.md", "its middle was left out"]);
    says(&report, "trust", &[".mcp.json", "its agents, skills and hooks are ignored"]);
}

#[test]
fn settings_of_a_project_and_of_the_machine_are_read_and_never_without_end() {
    let stage = stage();
    stage.script(HELLO);
    fs::create_dir(stage.path(".bosun")).unwrap();
    let config = stage.path(".bosun/config.toml");
    fs::write(&config, "max-turns = 5\n").unwrap();
    says(&doctor(&stage, 0), "config", &["ok", ".bosun/config.toml is read"]);
    fs::write(&config, "max-turns = 0\n").unwrap();
    says(&doctor(&stage, 1), "config", &["fail", "max-turns is 0", "correct"]);
    fs::remove_file(&config).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &config).unwrap();
    says(&doctor(&stage, 1), "config", &["fail", "it is a link"]);
    let report = alone(&stage).env("BOSUN_MANAGED", "/nowhere/managed.toml").run().expect(1).json();
    says(&report, "config", &["fail", "/nowhere/managed.toml", "BOSUN_MANAGED"]);
}
