//! `bosun doctor`: its findings, its remedies, and that it changes nothing.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use testkit::binary::BinaryFixture;

use crate::scripts::{HELLO, turns};
use crate::{BOSUN, fixture};

/// The checks about a topic, as `status text remedy`.
fn checks_about(report: &Value, topic: &str) -> Vec<String> {
    let checks = report["checks"].as_array().unwrap().iter().filter(|check| check["topic"] == topic);
    let word = |check: &Value, key: &str| check[key].as_str().unwrap_or("-").to_owned();
    checks.map(|check| ["status", "text", "remedy"].map(|key| word(check, key)).join(" | ")).collect()
}

#[track_caller]
fn assert_check(report: &Value, topic: &str, parts: &[&str]) {
    let checks = checks_about(report, topic);
    let all = |check: &String| parts.iter().all(|part| check.contains(part));
    assert!(checks.iter().any(all), "{topic} does not say {parts:?}: {checks:#?}");
}

/// Runs the doctor without probing the machine's own servers.
fn run_doctor(fixture: &BinaryFixture, code: i32) -> Value {
    doctor_invocation(fixture).run().expect(code).json()
}

fn doctor_invocation(fixture: &BinaryFixture) -> testkit::binary::BinaryInvocation {
    fixture.bosun(["doctor", "--json"]).env("OLLAMA_HOST", "http://10.0.0.1")
}

#[expect(clippy::disallowed_methods, reason = "tests start programs directly")]
fn git(fixture: &BinaryFixture, args: &[&str]) {
    let mut git = Command::new("git");
    git.args(args).current_dir(fixture.folder()).env("HOME", fixture.home().parent().unwrap());
    assert!(git.output().unwrap().status.success(), "git {args:?}");
}

/// Every file below a folder with its size, mode and time, except SQLite's shared memory.
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
fn healthy_setup_has_no_failures() {
    let fixture = fixture();
    fixture.script(HELLO).prompt("hi").run().expect(0);
    let report = run_doctor(&fixture, 0);
    assert_eq!(report["fail"], 0, "{report:#}");
    assert_check(&report, "model", &["ok", "script/", "is usable"]);
    let topics: Vec<&str> =
        report["checks"].as_array().unwrap().iter().filter_map(|check| check["topic"].as_str()).collect();
    assert_eq!(topics[..3], ["model", "keys", "git"]);
    assert_check(&report, "managed", &["note"]);
    assert_check(&report, "sessions", &["ok", "1, "]);
    assert_check(&report, "versions", &["bosun", "SQLite", "kernel"]);
    assert_check(&report, "sandbox", &["warn", "without a sandbox", "comes later"]);
    assert_check(&report, "keys", &["warn", "ANTHROPIC_API_KEY", "bosun demo"]);
    let remedies = report["checks"].as_array().unwrap().iter();
    let remedies = remedies.filter(|check| check["status"] == "warn" || check["status"] == "fail");
    assert!(remedies.into_iter().all(|check| check["remedy"].as_str().is_some_and(|text| !text.is_empty())));
}

#[test]
fn text_report_has_one_line_per_check_and_remedies_below() {
    let fixture = fixture();
    let ended = fixture.bosun(["doctor"]).without_env("BOSUN_MODEL").run().expect(0).says(&["ok,", "0 failed"]);
    let output: Vec<&str> = ended.stdout.lines().collect();
    let at = output.iter().position(|line| line.starts_with("warn  model ")).unwrap();
    assert!(output[at + 1].trim_start().contains("give one with --model"), "{output:#?}");
    assert!(output.iter().all(|line| !line.contains('\u{1b}')), "{output:#?}");
}

#[test]
fn doctor_changes_and_creates_nothing() {
    let fixture = fixture();
    run_doctor(&fixture, 1);
    assert!(!fixture.home().exists(), "no home is made");
    fixture.script(&turns(5));
    fixture.prompt("at work").env("BOSUN_FAULT", "after-commit:12").discard_output().run().expect_killed();
    git(&fixture, &["init", "-q"]);
    fs::write(fixture.path("new"), "").unwrap();
    let base = fixture.home().parent().unwrap().to_owned();
    let before = tree(&base);
    let report = run_doctor(&fixture, 0);
    assert_check(&report, "sessions", &["warn", "was at work when its process ended", "bosun --resume"]);
    assert_check(&report, "git", &["ok", "1 changed file"]);
    assert_eq!(tree(&base), before);
}

#[test]
fn broken_config_is_reported_and_other_checks_still_run() {
    let fixture = fixture();
    fixture.script(HELLO);
    fs::create_dir(fixture.home()).unwrap();
    fs::set_permissions(fixture.home(), Permissions::from_mode(0o700)).unwrap();
    fs::write(fixture.home().join("config.toml"), "model = 'x/y'\nturns = 3\n").unwrap();
    let report = run_doctor(&fixture, 1);
    assert_check(&report, "config", &["fail", "config.toml: line 2", "unknown field `turns`", "correct"]);
    assert_check(&report, "model", &["ok"]);
    fs::write(fixture.home().join("config.toml"), "").unwrap();
    let report = doctor_invocation(&fixture).env("OPENAI_BASE_URL", "nowhere").run().expect(1).json();
    assert_check(&report, "providers", &["fail", "OPENAI_BASE_URL has no scheme"]);
    assert_check(&report, "versions", &["ok"]);
}

#[test]
fn keys_are_named_by_their_variable_and_never_shown() {
    let fixture = fixture();
    let with_keys = |args: &[&str]| {
        fixture
            .bosun(args)
            .env("OLLAMA_HOST", "http://10.0.0.1")
            .env("ANTHROPIC_API_KEY", "sk-very-secret")
            .env("HTTPS_PROXY", "http://me:sk-very-secret@proxy")
            .env("BOSUN_MODEL", "openai/gpt-none")
            .run()
            .expect(1)
    };
    let report = with_keys(&["doctor", "--json"]).json();
    assert_check(&report, "keys", &["ok", "anthropic (ANTHROPIC_API_KEY)"]);
    assert_check(&report, "model", &["fail", "OPENAI_API_KEY"]);
    assert_check(&report, "environment", &["HTTPS_PROXY"]);
    assert!(!with_keys(&["doctor"]).stdout.contains("sk-very-secret"));
    assert!(!report.to_string().contains("sk-very-secret"));
}

#[test]
fn unusable_homes_are_reported() {
    let fixture = BinaryFixture::of_ordinary_user(BOSUN);
    let nowhere = doctor_invocation(&fixture).without_env("HOME").without_env("BOSUN_HOME").run().expect(1).json();
    assert_check(&nowhere, "home", &["fail", "neither BOSUN_HOME nor HOME is set", "set BOSUN_HOME"]);
    let report = doctor_invocation(&fixture).env("BOSUN_HOME", "/").run().expect(1).json();
    assert_check(&report, "home", &["fail", "open to other users", "set BOSUN_HOME"]);
    let theirs = fixture.path("theirs");
    fs::create_dir(&theirs).unwrap();
    fs::set_permissions(&theirs, Permissions::from_mode(0o555)).unwrap();
    let report = doctor_invocation(&fixture).env("BOSUN_HOME", theirs.join("home")).run().expect(1).json();
    assert_check(&report, "home", &["fail", "no permission", "BOSUN_HOME"]);
    fs::write(fixture.path("file"), "").unwrap();
    let report = doctor_invocation(&fixture).env("BOSUN_HOME", fixture.path("file/below")).run().expect(1).json();
    assert_check(&report, "home", &["fail", "is not a directory"]);
}

#[test]
fn unreadable_sessions_are_named_with_a_remedy() {
    let fixture = fixture();
    fixture.script(HELLO).prompt("one").run().expect(0);
    let damaged = fixture.newest();
    fixture.prompt("two").run().expect(0);
    let newer = fixture.newest();
    fs::write(fixture.session_db(&damaged), "not a database at all, but long enough to look at").unwrap();
    testkit::binary::set_format(&fixture.session_db(&newer), 99);
    let report = run_doctor(&fixture, 0);
    assert_check(&report, "sessions", &["warn", &damaged, "damaged", "bosun sessions rm"]);
    assert_check(&report, "sessions", &["warn", &newer, "a newer Bosun wrote it"]);
}

#[test]
fn programs_named_by_a_repository_do_not_run() {
    let fixture = fixture();
    git(&fixture, &["init", "-q"]);
    let witness = fixture.path("witness");
    let run = format!("touch {}", witness.display());
    fs::write(fixture.path("a.txt"), "a").unwrap();
    git(&fixture, &["add", "a.txt"]);
    fs::write(fixture.path("a.txt"), "b").unwrap();
    fs::write(fixture.path(".gitattributes"), "*.txt filter=evil\n").unwrap();
    for setting in ["filter.evil.clean", "core.fsmonitor", "core.sshCommand", "core.pager", "alias.status"] {
        git(&fixture, &["config", setting, &run]);
    }
    let report = run_doctor(&fixture, 1);
    assert_check(&report, "git", &["ok", "not counted", "programs that git would run"]);
    assert!(!witness.exists());
    for setting in ["filter.evil.clean", "core.fsmonitor", "core.sshCommand"] {
        git(&fixture, &["config", "--unset", setting]);
    }
    assert_check(&run_doctor(&fixture, 1), "git", &["ok", "2 changed files"]);
    // The user's own settings are trusted.
    git(&fixture, &["config", "--global", "filter.lfs.clean", "true"]);
    assert_check(&run_doctor(&fixture, 1), "git", &["ok", "2 changed files"]);
    assert!(!witness.exists());
}

#[test]
fn files_of_other_programs_are_reported_as_ignored_or_unsupported() {
    let fixture = fixture();
    for file in [".mcp.json", ".github/hooks/a.json", ".claude/agents/b.md"] {
        fs::create_dir_all(fixture.path(file).parent().unwrap()).unwrap();
        fs::write(fixture.path(file), "{}").unwrap();
    }
    fs::write(fixture.path("AGENTS.md"), "x".repeat(40_000)).unwrap();
    let report = run_doctor(&fixture, 1);
    assert_check(&report, "mcp", &["warn", ".mcp.json", "ignored", "bosun trust"]);
    assert_check(&report, "agents", &["warn", ".claude/agents/b.md", "ignored", "bosun trust"]);
    assert_check(&report, "agents", &["warn", ".github/hooks/a.json", "ignored", "bosun trust"]);
    assert_check(&report, "instructions", &["ok", "AGENTS.md"]);
    assert_check(&report, "instructions", &["warn", "AGENTS.md", "its middle was left out"]);
    assert_check(&report, "trust", &[".mcp.json", "its agents, skills and hooks are ignored"]);
}

#[test]
fn project_and_managed_settings_are_checked_with_a_size_limit() {
    let fixture = fixture();
    fixture.script(HELLO);
    fs::create_dir(fixture.path(".bosun")).unwrap();
    let config = fixture.path(".bosun/config.toml");
    fs::write(&config, "max-turns = 5\n").unwrap();
    assert_check(&run_doctor(&fixture, 0), "config", &["ok", ".bosun/config.toml is read"]);
    fs::write(&config, "max-turns = 0\n").unwrap();
    assert_check(&run_doctor(&fixture, 1), "config", &["fail", "max-turns is 0", "correct"]);
    fs::remove_file(&config).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &config).unwrap();
    assert_check(&run_doctor(&fixture, 1), "config", &["fail", "it is a link"]);
    let report = doctor_invocation(&fixture).env("BOSUN_MANAGED", "/nowhere/managed.toml").run().expect(1).json();
    assert_check(&report, "config", &["fail", "/nowhere/managed.toml", "BOSUN_MANAGED"]);
}
