//! Answers of hooks in both dialects.

use hooks::{HookEventData, HookVerdict, Ruling};
use protocol::{HookDialect, HookEvent, HookSpec};

use crate::support::{call, command, guardian, run_hooks, runner};

async fn answer_of(event: HookEvent, dialect: HookDialect, data: HookEventData, text: &str) -> HookVerdict {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("said"), text).unwrap();
    let spec = HookSpec { dialect, ..command(event, "cat said") };
    run_hooks(&runner(guardian(), folder.path()), vec![spec], &data).await
}

fn deny(reason: &str) -> Ruling {
    Ruling::Deny { reason: reason.into() }
}

#[tokio::test]
async fn call_can_be_denied_asked_about_and_rewritten_in_both_dialects() {
    let before =
        |dialect, text: &'static str| answer_of(HookEvent::PreToolUse, dialect, call("edit", r#"{"path":"a"}"#), text);
    let (camel, snake) = (HookDialect::Camel, HookDialect::Snake);
    let verdict = before(camel, r#"{"permissionDecision":"deny","permissionDecisionReason":"never"}"#).await;
    assert_eq!(verdict.ruling, deny("never"));
    let verdict = before(camel, r#"{"modifiedArgs":{"path":"b","old_str":"c"},"additionalContext":"so"}"#).await;
    let input = verdict.updated_input.unwrap();
    assert_eq!((&input["path"], &input["old"], verdict.context), (&"b".into(), &"c".into(), vec!["so".to_owned()]));
    let wrapped = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask","permissionDecisionReason":"sure?"}}"#;
    assert_eq!(before(snake, wrapped).await.ruling, Ruling::Ask { reason: "sure?".into() });
    assert_eq!(before(snake, r#"{"decision":"block","reason":"old words"}"#).await.ruling, deny("old words"));
    assert_eq!(before(snake, r#"{"decision":"approve"}"#).await.ruling, Ruling::Allow);
    assert_eq!(before(snake, r#"{"continue":false,"stopReason":"enough"}"#).await.ruling, deny("enough"));
    let renamed = before(snake, r#"{"hookSpecificOutput":{"updatedInput":{"file_path":"z"}}}"#).await;
    assert_eq!(renamed.updated_input.unwrap()["path"], "z");
}

#[tokio::test]
async fn other_events_have_their_own_answers() {
    let (camel, snake) = (HookDialect::Camel, HookDialect::Snake);
    let stop =
        || HookEventData::AgentStop { reason: "completed".into(), last_message: "done".into(), is_repeated: false };
    let verdict =
        answer_of(HookEvent::SubagentStop, camel, stop(), r#"{"decision":"block","reason":"run the tests"}"#).await;
    assert_eq!(verdict.ruling, deny("run the tests"));
    let verdict = answer_of(HookEvent::SubagentStop, snake, stop(), r#"{"continue":false,"decision":"block"}"#).await;
    assert_eq!(verdict.ruling, Ruling::Allow);

    let ask = || {
        let HookEventData::PreTool(call) = call("shell", "{}") else { panic!() };
        HookEventData::PermissionRequest { call, reason: "why".into() }
    };
    let behavior = r#"{"hookSpecificOutput":{"decision":{"behavior":"deny","message":"not you"}}}"#;
    assert_eq!(answer_of(HookEvent::PermissionRequest, snake, ask(), behavior).await.ruling, deny("not you"));
    let flat = r#"{"behavior":"deny","message":"nor you"}"#;
    assert_eq!(answer_of(HookEvent::PermissionRequest, camel, ask(), flat).await.ruling, deny("nor you"));

    let prompt = || HookEventData::Prompt { prompt: "go".into() };
    let verdict = answer_of(HookEvent::UserPromptSubmitted, camel, prompt(), r#"{"modifiedPrompt":"go on"}"#).await;
    assert_eq!(verdict.replacement_text.as_deref(), Some("go on"));
    assert_eq!(
        answer_of(HookEvent::UserPromptSubmitted, snake, prompt(), "plain words").await.context,
        ["plain words"]
    );
    assert!(answer_of(HookEvent::UserPromptSubmitted, camel, prompt(), "plain words").await.context.is_empty());

    let after = || {
        let HookEventData::PreTool(call) = call("shell", "{}") else { panic!() };
        HookEventData::PostTool { call, answer: "long".into() }
    };
    let verdict =
        answer_of(HookEvent::PostToolUse, camel, after(), r#"{"modifiedResult":{"textResultForLlm":"short"}}"#).await;
    assert_eq!(verdict.replacement_text.as_deref(), Some("short"));
    let verdict =
        answer_of(HookEvent::PostToolUse, snake, after(), r#"{"decision":"block","reason":"format it"}"#).await;
    assert_eq!(verdict.context, ["format it"]);
}

/// Every form in which a denial could be missed, in both dialects.
#[tokio::test]
async fn denial_counts_anywhere_in_the_output_of_a_guard() {
    let denial = r#"{"permissionDecision":"deny","permissionDecisionReason":"never"}"#;
    let wrapped = format!(r#"{{"hookSpecificOutput":{denial}}}"#);
    let utf16: Vec<u8> = [0xff, 0xfe].into_iter().chain(denial.encode_utf16().flat_map(u16::to_le_bytes)).collect();
    let long = "x".repeat(100_000);
    let outputs: Vec<Vec<u8>> = vec![
        denial.into(),
        format!("\u{feff}{denial}").into(),
        format!("\u{feff}\u{feff}\n{denial}").into(),
        format!("checking\n{denial}").into(),
        format!("[info] checking\n{denial}\n").into(),
        format!("checking {denial}").into(),
        format!("{denial}\ndone").into(),
        format!("{denial}\n{denial}").into(),
        format!("{{}}\n{denial}").into(),
        format!("{{\"permissionDecision\":\"allow\"}}\n{denial}").into(),
        format!("{denial}\n{{\"permissionDecision\":\"allow\"}}").into(),
        format!("[{denial}]").into(),
        format!("[{{}}, {denial}]").into(),
        format!("[[{denial}]]").into(),
        wrapped.clone().into(),
        format!("log\n{wrapped}").into(),
        format!("{long}\n{denial}").into(),
        format!("{{\"systemMessage\":\"{long}\",\"permissionDecision\":\"deny\",\"reason\":\"never\"}}").into(),
        format!("{{\"tool_input\":{{\"command\":\"{long}\"}}}}\n{denial}").into(),
        format!("{{\"a\": \"\n{denial}").into(),
        format!("}}}} {{ {denial}").into(),
        format!("```json\n{denial}\n```").into(),
        format!("{}{denial}", "{".repeat(300)).into(),
        format!("{}\n{denial}", "{x".repeat(300)).into(),
        utf16,
        r#"{"permissionDecision":"DENY"}"#.into(),
        r#"{"PermissionDecision":"deny"}"#.into(),
        r#"{"permission_decision":"deny"}"#.into(),
        r#"{"result":{"permissionDecision":"deny"}}"#.into(),
        r#"{"permissionDecision":"deny""#.into(),
        r#"checking {"permissionDecision":"deny""#.into(),
        "{'permissionDecision': 'deny'}".into(),
        "DENIED permissionDecision=deny".into(),
        r#"{"decision":"block"} trailing {"#.into(),
        r#"{"continue":false}x"#.into(),
        r#"["permissionDecision", "deny"] {"continue": false}"#.into(),
    ];
    for text in outputs {
        for dialect in [HookDialect::Camel, HookDialect::Snake] {
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join("said"), &text).unwrap();
            let spec = HookSpec { dialect, ..command(HookEvent::PreToolUse, "cat said") };
            let verdict = run_hooks(&runner(guardian(), folder.path()), vec![spec], &call("shell", "{}")).await;
            let shown: String = String::from_utf8_lossy(&text).chars().take(80).collect();
            assert!(verdict.denial_reason().is_some(), "{dialect:?}: {shown}");
        }
    }
    let flood = HookSpec { ..command(HookEvent::PreToolUse, "head -c 2000000 /dev/zero") };
    let folder = tempfile::tempdir().unwrap();
    assert!(
        run_hooks(&runner(guardian(), folder.path()), vec![flood], &call("shell", "{}"))
            .await
            .denial_reason()
            .is_some()
    );
}

#[tokio::test]
async fn output_without_a_decision_is_not_a_denial() {
    let outputs = [
        "",
        "checking { braces } and [lists]",
        "ok\n{\"count\": 3}",
        "[1, 2]",
        "no decision was needed",
        "{\"tool_input\": {\"command\": \"ls\"}}",
        "{\"suppressOutput\": true}",
        "the decision: go on",
    ];
    for text in outputs {
        for dialect in [HookDialect::Camel, HookDialect::Snake] {
            let verdict = answer_of(HookEvent::PreToolUse, dialect, call("shell", "{}"), text).await;
            assert_eq!(verdict.ruling, Ruling::Nothing, "{text}");
        }
    }
}

#[tokio::test]
async fn guard_with_a_changed_program_denies_without_running() {
    let folder = tempfile::tempdir().unwrap();
    let guard = folder.path().join("guard.sh");
    std::fs::write(&guard, "exit 0").unwrap();
    let digest = hooks::program_digest(&guard);
    let program = protocol::HookProgram { path: "guard.sh".into(), digest };
    let spec = HookSpec { programs: vec![program], ..command(HookEvent::PreToolUse, "sh guard.sh") };
    let runner = runner(guardian(), folder.path());
    let run = || async { run_hooks(&runner, vec![spec.clone()], &call("shell", "{}")).await };
    assert_eq!(run().await.ruling, Ruling::Nothing);
    std::fs::write(&guard, "touch ran").unwrap();
    let verdict = run().await;
    assert!(verdict.denial_reason().is_some_and(|reason| reason.contains("bosun trust")), "{verdict:?}");
    std::fs::remove_file(&guard).unwrap();
    assert!(run().await.denial_reason().is_some());
    assert!(!folder.path().join("ran").exists());
}
