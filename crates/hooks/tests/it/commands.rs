//! Hooks that are commands: their input, their output, and their timeouts.

use std::time::{Duration, Instant};

use hooks::{HookEventData, HookSet, Ruling};
use host::Guardian;
use insta::assert_snapshot;
use protocol::{HookAction, HookDialect, HookEvent, HookFailure, HookSpec};
use serde_json::{Value, json};

use crate::support::{agent_of, call, command, guardian, hook, run_hooks, runner};

fn denies(ruling: &Ruling, text: &str) -> bool {
    matches!(ruling, Ruling::Deny { reason } if reason.contains(text))
}

#[tokio::test]
async fn payloads_use_the_dialect_of_the_hook() {
    let folder = tempfile::tempdir().unwrap();
    let runner = runner(guardian(), folder.path());
    for (dialect, file) in [(HookDialect::Camel, "camel"), (HookDialect::Snake, "snake")] {
        let spec = HookSpec { dialect, ..command(HookEvent::PreToolUse, &format!("cat > {file}")) };
        run_hooks(&runner, vec![spec], &call("edit", r#"{"path":"a","old":"b","new":"c"}"#)).await;
    }
    let read = |file: &str| -> Value {
        serde_json::from_str(&std::fs::read_to_string(folder.path().join(file)).unwrap()).unwrap()
    };
    let pretty_json = |file| serde_json::to_string_pretty(&read(file)).unwrap();
    assert_snapshot!("camel", pretty_json("camel"));
    assert_snapshot!("snake", pretty_json("snake"));
}

#[tokio::test]
async fn exit_codes_and_output_decide() {
    let folder = tempfile::tempdir().unwrap();
    let runner = runner(guardian(), folder.path());
    let verdict_of = async |text: &str| {
        run_hooks(&runner, vec![command(HookEvent::PreToolUse, text)], &call("shell", r#"{"command":"ls"}"#)).await
    };
    assert_eq!(verdict_of("true").await.ruling, Ruling::Nothing);
    assert!(denies(&verdict_of("echo no such thing >&2; exit 2").await.ruling, "no such thing"));
    assert_eq!(verdict_of("echo broken >&2; exit 1").await.ruling, Ruling::Nothing);
    assert_eq!(verdict_of("echo just talking").await.ruling, Ruling::Nothing);
    assert_eq!(verdict_of("kill -9 $$").await.ruling, Ruling::Nothing);
    let rewritten = verdict_of(r#"echo '{"hookSpecificOutput":{"updatedInput":{"command":"ls -l"}}}'"#).await;
    assert_eq!(rewritten.updated_input, json!({ "command": "ls -l" }).as_object().cloned());
}

#[tokio::test]
async fn failed_hook_with_block_policy_denies() {
    let folder = tempfile::tempdir().unwrap();
    let runner = runner(guardian(), folder.path());
    for text in ["exit 1", "exit 127", "echo '{not json'", r#"echo '{"permissionDecision":"perhaps"}'"#, "kill -9 $$"] {
        let spec = HookSpec { failure: HookFailure::Closed, ..command(HookEvent::PreToolUse, text) };
        let verdict = run_hooks(&runner, vec![spec], &call("shell", "{}")).await;
        assert!(denies(&verdict.ruling, "test.json:1"), "{text}: {verdict:?}");
    }
}

#[tokio::test]
async fn each_hook_sees_changes_of_earlier_hooks() {
    let folder = tempfile::tempdir().unwrap();
    let runner = runner(guardian(), folder.path());
    let first = r#"echo '{"hookSpecificOutput":{"updatedInput":{"command":"second"},"additionalContext":"one"}}'"#;
    let hooks = vec![
        command(HookEvent::PreToolUse, first),
        command(
            HookEvent::PreToolUse,
            "cat > seen; echo '{\"additionalContext\":\"two\",\"permissionDecision\":\"ask\"}'",
        ),
        command(HookEvent::PreToolUse, "exit 2"),
        command(HookEvent::PreToolUse, "touch never"),
    ];
    let verdict = run_hooks(&runner, hooks, &call("shell", r#"{"command":"first"}"#)).await;
    assert_eq!(verdict.context, ["one", "two"]);
    assert!(verdict.denial_reason().is_some());
    let seen = std::fs::read_to_string(folder.path().join("seen")).unwrap();
    assert!(seen.contains("second") && !seen.contains("first"), "{seen}");
    assert!(!folder.path().join("never").exists());
}

#[tokio::test]
async fn command_has_the_configured_environment_and_folder() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("sub")).unwrap();
    let runner = runner(guardian(), folder.path());
    let text = "echo \"$PWD|$CLAUDE_PROJECT_DIR|$OWN|$TOKEN\" > out".to_owned();
    let env = [("OWN".to_owned(), "mine".to_owned()), ("TOKEN".to_owned(), "other".to_owned())].into();
    let action = HookAction::Command { command: text, cwd: Some("sub".into()), env };
    run_hooks(&runner, vec![hook(HookEvent::PreToolUse, action)], &call("shell", "{}")).await;
    let out = std::fs::read_to_string(folder.path().join("sub/out")).unwrap();
    let top = folder.path().display();
    assert_eq!(out, format!("{top}/sub|{top}|mine|other\n"));
}

/// Runs one hook with this timeout, and returns its ruling and duration.
async fn run_timed(guardian: Guardian, text: &str, failure: HookFailure, millis: u64) -> (Ruling, Duration) {
    let folder = tempfile::tempdir().unwrap();
    let runner = runner(guardian, folder.path());
    let spec = HookSpec { timeout_ms: millis, failure, ..command(HookEvent::PreToolUse, text) };
    let before = Instant::now();
    let verdict = run_hooks(&runner, vec![spec], &call("shell", "{}")).await;
    (verdict.ruling, before.elapsed())
}

#[tokio::test]
async fn hanging_hooks_end_at_their_timeout() {
    for text in ["sleep 60", "trap '' TERM INT HUP; while :; do sleep 1; done", "setsid sleep 60 & wait"] {
        let (ruling, took) = run_timed(guardian(), text, HookFailure::Open, 300).await;
        assert_eq!(ruling, Ruling::Nothing);
        assert!(took < Duration::from_secs(10), "{text} took {took:?}");
    }
    let (ruling, _) = run_timed(guardian(), "sleep 60", HookFailure::Closed, 100).await;
    assert!(denies(&ruling, "longer than 0.1 s"), "{ruling:?}");
}

/// A denial that a hook wrote before it hangs or fails counts, regardless of its failure policy.
#[tokio::test]
async fn denial_counts_even_if_the_hook_then_hangs_or_fails() {
    let deny_command = r#"echo '{"permissionDecision":"deny","permissionDecisionReason":"not today"}'"#;
    for then in ["sleep 60", "exit 1", "kill -9 $$"] {
        let (ruling, took) = run_timed(guardian(), &format!("{deny_command}; {then}"), HookFailure::Open, 3000).await;
        assert!(denies(&ruling, "not today"), "{then}: {ruling:?}");
        assert!(took < Duration::from_secs(10), "{then} took {took:?}");
    }
    // A truncated answer that may have been a denial denies; an approval or other text has no effect.
    let (ruling, _) =
        run_timed(guardian(), r#"printf '{"permissionDecision":"de'; sleep 60"#, HookFailure::Open, 1000).await;
    assert!(denies(&ruling, "not a valid answer"), "{ruling:?}");
    for text in [r#"echo '{"permissionDecision":"allow"}'"#, "echo checking"] {
        let (ruling, _) = run_timed(guardian(), &format!("{text}; sleep 60"), HookFailure::Open, 300).await;
        assert_eq!(ruling, Ruling::Nothing, "{text}");
    }
}

#[tokio::test]
async fn processes_started_by_a_hook_end_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let runner = runner(guardian(), folder.path());
    let text = "(trap '' TERM; while :; do date +%N > alive; sleep 0.02; done) & sleep 60";
    let timeout = Duration::from_secs(60);
    let spec = HookSpec { timeout_ms: 60_000, ..command(HookEvent::PreToolUse, text) };
    let deadline = async {
        while !folder.path().join("alive").exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        tokio::time::pause();
        tokio::time::advance(timeout).await;
        tokio::time::resume();
    };
    let data = call("shell", "{}");
    tokio::join!(run_hooks(&runner, vec![spec], &data), deadline);
    let alive = || std::fs::read_to_string(folder.path().join("alive")).unwrap();
    // Killing takes a moment; afterwards nothing is written any more.
    for _ in 0..200 {
        let before = alive();
        tokio::time::sleep(Duration::from_millis(100)).await;
        if before == alive() {
            return;
        }
    }
    panic!("it is still running");
}

#[tokio::test]
async fn excessive_output_is_a_failure() {
    let (ruling, took) = run_timed(guardian(), "yes", HookFailure::Closed, 60_000).await;
    assert!(denies(&ruling, "more than"), "{ruling:?}");
    assert!(took < Duration::from_secs(20), "{took:?}");
    let (ruling, _) = run_timed(guardian(), "yes >&2", HookFailure::Closed, 60_000).await;
    assert!(denies(&ruling, "more than"), "{ruling:?}");
}

#[tokio::test]
async fn hook_that_never_starts_times_out() {
    let folder = tempfile::tempdir().unwrap();
    let hanging_guardian = folder.path().join("deaf");
    std::fs::write(&hanging_guardian, "#!/bin/sh\nexec sleep 60\n").unwrap();
    std::fs::set_permissions(&hanging_guardian, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let (ruling, took) = run_timed(Guardian::new(hanging_guardian), "true", HookFailure::Closed, 300).await;
    assert!(denies(&ruling, "longer than"), "{ruling:?}");
    assert!(took < Duration::from_secs(10), "{took:?}");
    let (ruling, _) = run_timed(Guardian::new("/nowhere/at/all".into()), "true", HookFailure::Closed, 300).await;
    assert!(denies(&ruling, "could not be started"), "{ruling:?}");
}

#[tokio::test]
async fn hook_may_ignore_its_input_and_write_much() {
    let folder = tempfile::tempdir().unwrap();
    let runner = runner(guardian(), folder.path());
    let long = format!(r#"{{"command":"{}"}}"#, "x".repeat(400_000));
    let spec = command(HookEvent::PreToolUse, "head -c 300000 /dev/zero >&2; echo '{\"permissionDecision\":\"deny\"}'");
    let verdict = run_hooks(&runner, vec![spec], &call("shell", &long)).await;
    assert!(verdict.denial_reason().is_some(), "{verdict:?}");
}

#[test]
fn matcher_matches_any_name_of_a_tool() {
    let matched = |matcher: &str, tool: &str| {
        let spec = HookSpec { matcher: Some(matcher.into()), ..command(HookEvent::PreToolUse, "true") };
        !HookSet::new([spec]).matching(HookEvent::PreToolUse, &call(tool, "{}"), &agent_of("explore")).is_empty()
    };
    for (matcher, tool) in [
        ("Bash", "shell"),
        ("bash", "shell"),
        ("shell", "shell"),
        ("Edit|Write", "create"),
        ("*", "sql"),
        (".*", "sql"),
        ("Task", "task"),
    ] {
        assert!(matched(matcher, tool), "{matcher} {tool}");
    }
    for (matcher, tool) in [("Bash", "sql"), ("Bas", "shell"), ("edit", "create")] {
        assert!(!matched(matcher, tool), "{matcher} {tool}");
    }
    let start = HookSpec { matcher: Some("explore".into()), ..command(HookEvent::SubagentStart, "true") };
    let hooks = HookSet::new([start]);
    assert_eq!(hooks.matching(HookEvent::SubagentStart, &HookEventData::AgentStart, &agent_of("explore")).len(), 1);
    assert!(hooks.matching(HookEvent::SubagentStart, &HookEventData::AgentStart, &agent_of("explorer")).is_empty());
    // The name given in the call matches too.
    let by_name = HookSpec { matcher: Some("one".into()), ..command(HookEvent::SubagentStart, "true") };
    assert_eq!(
        HookSet::new([by_name])
            .matching(HookEvent::SubagentStart, &HookEventData::AgentStart, &agent_of("explore"))
            .len(),
        1
    );
}

#[tokio::test]
async fn number_of_concurrent_hooks_is_limited() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("live")).unwrap();
    let runner = runner(guardian(), folder.path());
    let text = "touch live/$$; ls live | wc -l >> seen; read -t 0.3 < <(exec sleep 9); rm live/$$; exit 2";
    let mut flood = tokio::task::JoinSet::new();
    for _ in 0..200 {
        let runner = runner.clone();
        let specs = vec![command(HookEvent::PreToolUse, text)];
        flood.spawn(async move { run_hooks(&runner, specs, &call("shell", "{}")).await.ruling });
    }
    let rulings = flood.join_all().await;
    assert!(rulings.iter().all(|ruling| matches!(ruling, Ruling::Deny { .. })));
    let seen = std::fs::read_to_string(folder.path().join("seen")).unwrap();
    let max_running = seen.lines().filter_map(|line| line.trim().parse::<usize>().ok()).max();
    assert!(max_running.is_some_and(|max_running| max_running <= 64), "{max_running:?}");
}
