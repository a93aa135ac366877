//! Hooks that are commands: what they are told, what they may say, and that none of them can hold anything up.

use std::time::{Duration, Instant};

use hooks::{HookEventData, HookSet, Ruling};
use host::Guardian;
use insta::assert_snapshot;
use protocol::{HookAction, HookDialect, HookEvent, HookFailure, HookSpec};
use serde_json::{Value, json};

use crate::support::{call, command, guardian, hook, named, runner, tell};

fn denies(ruling: &Ruling, words: &str) -> bool {
    matches!(ruling, Ruling::Deny { reason } if reason.contains(words))
}

#[tokio::test]
async fn each_family_is_told_in_its_own_words() {
    let folder = tempfile::tempdir().unwrap();
    let runner = runner(guardian(), folder.path());
    for (dialect, file) in [(HookDialect::Camel, "camel"), (HookDialect::Snake, "snake")] {
        let spec = HookSpec { dialect, ..command(HookEvent::PreToolUse, &format!("cat > {file}")) };
        tell(&runner, vec![spec], &call("edit", r#"{"path":"a","old":"b","new":"c"}"#)).await;
    }
    let read = |file: &str| -> Value {
        serde_json::from_str(&std::fs::read_to_string(folder.path().join(file)).unwrap()).unwrap()
    };
    let page = |file| serde_json::to_string_pretty(&read(file)).unwrap();
    assert_snapshot!("camel", page("camel"));
    assert_snapshot!("snake", page("snake"));
}

#[tokio::test]
async fn exit_codes_and_words_decide() {
    let folder = tempfile::tempdir().unwrap();
    let runner = runner(guardian(), folder.path());
    let said = async |text: &str| {
        tell(&runner, vec![command(HookEvent::PreToolUse, text)], &call("shell", r#"{"command":"ls"}"#)).await
    };
    assert_eq!(said("true").await.ruling, Ruling::Nothing);
    assert!(denies(&said("echo no such thing >&2; exit 2").await.ruling, "no such thing"));
    assert_eq!(said("echo broken >&2; exit 1").await.ruling, Ruling::Nothing);
    assert_eq!(said("echo just talking").await.ruling, Ruling::Nothing);
    assert_eq!(said("kill -9 $$").await.ruling, Ruling::Nothing);
    let rewritten = said(r#"echo '{"hookSpecificOutput":{"updatedInput":{"command":"ls -l"}}}'"#).await;
    assert_eq!(rewritten.updated_input, json!({ "command": "ls -l" }).as_object().cloned());
}

#[tokio::test]
async fn a_hook_that_fails_closed_means_no() {
    let folder = tempfile::tempdir().unwrap();
    let runner = runner(guardian(), folder.path());
    for text in ["exit 1", "exit 127", "echo '{not json'", r#"echo '{"permissionDecision":"perhaps"}'"#, "kill -9 $$"] {
        let spec = HookSpec { failure: HookFailure::Closed, ..command(HookEvent::PreToolUse, text) };
        let verdict = tell(&runner, vec![spec], &call("shell", "{}")).await;
        assert!(denies(&verdict.ruling, "test.json:1"), "{text}: {verdict:?}");
    }
}

#[tokio::test]
async fn each_hook_sees_what_those_before_it_made_of_the_call() {
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
    let verdict = tell(&runner, hooks, &call("shell", r#"{"command":"first"}"#)).await;
    assert_eq!(verdict.context, ["one", "two"]);
    assert!(verdict.denial_reason().is_some());
    let seen = std::fs::read_to_string(folder.path().join("seen")).unwrap();
    assert!(seen.contains("second") && !seen.contains("first"), "{seen}");
    assert!(!folder.path().join("never").exists());
}

#[tokio::test]
async fn a_command_has_the_environment_and_the_folder_that_its_file_promises() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("sub")).unwrap();
    let runner = runner(guardian(), folder.path());
    let text = "echo \"$PWD|$CLAUDE_PROJECT_DIR|$OWN|$TOKEN\" > out".to_owned();
    let env = [("OWN".to_owned(), "mine".to_owned()), ("TOKEN".to_owned(), "other".to_owned())].into();
    let action = HookAction::Command { command: text, cwd: Some("sub".into()), env };
    tell(&runner, vec![hook(HookEvent::PreToolUse, action)], &call("shell", "{}")).await;
    let out = std::fs::read_to_string(folder.path().join("sub/out")).unwrap();
    let top = folder.path().display();
    assert_eq!(out, format!("{top}/sub|{top}|mine|other\n"));
}

/// Tells one hook that has this long, and gives how long that took.
async fn timed(guardian: Guardian, text: &str, failure: HookFailure, millis: u64) -> (Ruling, Duration) {
    let folder = tempfile::tempdir().unwrap();
    let runner = runner(guardian, folder.path());
    let spec = HookSpec { timeout_ms: millis, failure, ..command(HookEvent::PreToolUse, text) };
    let before = Instant::now();
    let verdict = tell(&runner, vec![spec], &call("shell", "{}")).await;
    (verdict.ruling, before.elapsed())
}

#[tokio::test]
async fn hooks_that_hang_are_ended_at_their_deadline() {
    for text in ["sleep 60", "trap '' TERM INT HUP; while :; do sleep 1; done", "setsid sleep 60 & wait"] {
        let (ruling, took) = timed(guardian(), text, HookFailure::Open, 300).await;
        assert_eq!(ruling, Ruling::Nothing);
        assert!(took < Duration::from_secs(10), "{text} took {took:?}");
    }
    let (ruling, _) = timed(guardian(), "sleep 60", HookFailure::Closed, 100).await;
    assert!(denies(&ruling, "longer than 0.1 s"), "{ruling:?}");
}

/// What a hook that hangs or fails had written before is heard, if it says no, whatever its failure would mean.
#[tokio::test]
async fn a_no_counts_also_of_a_hook_that_then_hangs_or_fails() {
    let no = r#"echo '{"permissionDecision":"deny","permissionDecisionReason":"not today"}'"#;
    for then in ["sleep 60", "exit 1", "kill -9 $$"] {
        let (ruling, took) = timed(guardian(), &format!("{no}; {then}"), HookFailure::Open, 3000).await;
        assert!(denies(&ruling, "not today"), "{then}: {ruling:?}");
        assert!(took < Duration::from_secs(10), "{then} took {took:?}");
    }
    // What may have been a no and was cut off means no; a yes and other words mean nothing.
    let (ruling, _) =
        timed(guardian(), r#"printf '{"permissionDecision":"de'; sleep 60"#, HookFailure::Open, 1000).await;
    assert!(denies(&ruling, "not a valid answer"), "{ruling:?}");
    for text in [r#"echo '{"permissionDecision":"allow"}'"#, "echo checking"] {
        let (ruling, _) = timed(guardian(), &format!("{text}; sleep 60"), HookFailure::Open, 300).await;
        assert_eq!(ruling, Ruling::Nothing, "{text}");
    }
}

#[tokio::test]
async fn what_a_hook_started_is_gone_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let runner = runner(guardian(), folder.path());
    let text = "(trap '' TERM; while :; do date +%N > alive; sleep 0.02; done) & sleep 60";
    let time = Duration::from_secs(60);
    let spec = HookSpec { timeout_ms: 60_000, ..command(HookEvent::PreToolUse, text) };
    let deadline = async {
        while !folder.path().join("alive").exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        tokio::time::pause();
        tokio::time::advance(time).await;
        tokio::time::resume();
    };
    let occasion = call("shell", "{}");
    tokio::join!(tell(&runner, vec![spec], &occasion), deadline);
    let alive = || std::fs::read_to_string(folder.path().join("alive")).unwrap();
    // Killing takes a moment; from then on nothing is written any more.
    for _ in 0..200 {
        let before = alive();
        tokio::time::sleep(Duration::from_millis(100)).await;
        if before == alive() {
            return;
        }
    }
    panic!("it lives on");
}

#[tokio::test]
async fn a_flood_is_cut_off() {
    let (ruling, took) = timed(guardian(), "yes", HookFailure::Closed, 60_000).await;
    assert!(denies(&ruling, "more than"), "{ruling:?}");
    assert!(took < Duration::from_secs(20), "{took:?}");
    let (ruling, _) = timed(guardian(), "yes >&2", HookFailure::Closed, 60_000).await;
    assert!(denies(&ruling, "more than"), "{ruling:?}");
}

#[tokio::test]
async fn a_hook_that_never_starts_costs_its_deadline() {
    let folder = tempfile::tempdir().unwrap();
    let deaf = folder.path().join("deaf");
    std::fs::write(&deaf, "#!/bin/sh\nexec sleep 60\n").unwrap();
    std::fs::set_permissions(&deaf, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let (ruling, took) = timed(Guardian::new(deaf), "true", HookFailure::Closed, 300).await;
    assert!(denies(&ruling, "longer than"), "{ruling:?}");
    assert!(took < Duration::from_secs(10), "{took:?}");
    let (ruling, _) = timed(Guardian::new("/nowhere/at/all".into()), "true", HookFailure::Closed, 300).await;
    assert!(denies(&ruling, "could not be started"), "{ruling:?}");
}

#[tokio::test]
async fn a_hook_need_not_read_and_may_write_much() {
    let folder = tempfile::tempdir().unwrap();
    let runner = runner(guardian(), folder.path());
    let long = format!(r#"{{"command":"{}"}}"#, "x".repeat(400_000));
    let spec = command(HookEvent::PreToolUse, "head -c 300000 /dev/zero >&2; echo '{\"permissionDecision\":\"deny\"}'");
    let verdict = tell(&runner, vec![spec], &call("shell", &long)).await;
    assert!(verdict.denial_reason().is_some(), "{verdict:?}");
}

#[test]
fn a_matcher_means_a_tool_by_any_of_its_names() {
    let matched = |matcher: &str, tool: &str| {
        let spec = HookSpec { matcher: Some(matcher.into()), ..command(HookEvent::PreToolUse, "true") };
        !HookSet::new([spec]).matching(HookEvent::PreToolUse, &call(tool, "{}"), &named("explore")).is_empty()
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
    assert_eq!(hooks.matching(HookEvent::SubagentStart, &HookEventData::AgentStart, &named("explore")).len(), 1);
    assert!(hooks.matching(HookEvent::SubagentStart, &HookEventData::AgentStart, &named("explorer")).is_empty());
    // What the call named it is as good.
    let by_name = HookSpec { matcher: Some("one".into()), ..command(HookEvent::SubagentStart, "true") };
    assert_eq!(
        HookSet::new([by_name]).matching(HookEvent::SubagentStart, &HookEventData::AgentStart, &named("explore")).len(),
        1
    );
}

#[tokio::test]
async fn a_flood_of_calls_starts_no_flood_of_hooks() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("live")).unwrap();
    let runner = runner(guardian(), folder.path());
    let text = "touch live/$$; ls live | wc -l >> seen; read -t 0.3 < <(exec sleep 9); rm live/$$; exit 2";
    let mut flood = tokio::task::JoinSet::new();
    for _ in 0..200 {
        let runner = runner.clone();
        let specs = vec![command(HookEvent::PreToolUse, text)];
        flood.spawn(async move { tell(&runner, specs, &call("shell", "{}")).await.ruling });
    }
    let said = flood.join_all().await;
    assert!(said.iter().all(|ruling| matches!(ruling, Ruling::Deny { .. })));
    let seen = std::fs::read_to_string(folder.path().join("seen")).unwrap();
    let most = seen.lines().filter_map(|line| line.trim().parse::<usize>().ok()).max();
    assert!(most.is_some_and(|most| most <= 64), "{most:?}");
}
