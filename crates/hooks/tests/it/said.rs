//! What hooks may say, in either family's words.

use hooks::{Occasion, Ruling, Verdict};
use protocol::{HookDialect, HookEvent, HookSpec};

use crate::support::{call, command, guardian, runner, tell};

async fn said(event: HookEvent, dialect: HookDialect, occasion: Occasion, text: &str) -> Verdict {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("said"), text).unwrap();
    let spec = HookSpec { dialect, ..command(event, "cat said") };
    tell(&runner(guardian(), folder.path()), vec![spec], &occasion).await
}

fn deny(reason: &str) -> Ruling {
    Ruling::Deny { reason: reason.into() }
}

#[tokio::test]
async fn h1_a_call_can_be_denied_asked_about_and_rewritten_in_both_families() {
    let before =
        |dialect, text: &'static str| said(HookEvent::PreToolUse, dialect, call("edit", r#"{"path":"a"}"#), text);
    let (camel, snake) = (HookDialect::Camel, HookDialect::Snake);
    let verdict = before(camel, r#"{"permissionDecision":"deny","permissionDecisionReason":"never"}"#).await;
    assert_eq!(verdict.ruling, deny("never"));
    let verdict = before(camel, r#"{"modifiedArgs":{"path":"b","old_str":"c"},"additionalContext":"so"}"#).await;
    let input = verdict.input.unwrap();
    assert_eq!((&input["path"], &input["old"], verdict.context), (&"b".into(), &"c".into(), vec!["so".to_owned()]));
    let wrapped = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask","permissionDecisionReason":"sure?"}}"#;
    assert_eq!(before(snake, wrapped).await.ruling, Ruling::Ask { reason: "sure?".into() });
    assert_eq!(before(snake, r#"{"decision":"block","reason":"old words"}"#).await.ruling, deny("old words"));
    assert_eq!(before(snake, r#"{"decision":"approve"}"#).await.ruling, Ruling::Allow);
    assert_eq!(before(snake, r#"{"continue":false,"stopReason":"enough"}"#).await.ruling, deny("enough"));
    let renamed = before(snake, r#"{"hookSpecificOutput":{"updatedInput":{"file_path":"z"}}}"#).await;
    assert_eq!(renamed.input.unwrap()["path"], "z");
}

#[tokio::test]
async fn h1_other_occasions_have_words_of_their_own() {
    let (camel, snake) = (HookDialect::Camel, HookDialect::Snake);
    let stop = || Occasion::Stop { reason: "completed".into(), said: "done".into(), again: false };
    let verdict =
        said(HookEvent::SubagentStop, camel, stop(), r#"{"decision":"block","reason":"run the tests"}"#).await;
    assert_eq!(verdict.ruling, deny("run the tests"));
    let verdict = said(HookEvent::SubagentStop, snake, stop(), r#"{"continue":false,"decision":"block"}"#).await;
    assert_eq!(verdict.ruling, Ruling::Allow);

    let ask = || {
        let Occasion::PreTool(call) = call("shell", "{}") else { panic!() };
        Occasion::PermissionRequest { call, reason: "why".into() }
    };
    let behavior = r#"{"hookSpecificOutput":{"decision":{"behavior":"deny","message":"not you"}}}"#;
    assert_eq!(said(HookEvent::PermissionRequest, snake, ask(), behavior).await.ruling, deny("not you"));
    let flat = r#"{"behavior":"deny","message":"nor you"}"#;
    assert_eq!(said(HookEvent::PermissionRequest, camel, ask(), flat).await.ruling, deny("nor you"));

    let prompt = || Occasion::Prompt { prompt: "go".into() };
    let verdict = said(HookEvent::UserPromptSubmitted, camel, prompt(), r#"{"modifiedPrompt":"go on"}"#).await;
    assert_eq!(verdict.text.as_deref(), Some("go on"));
    assert_eq!(said(HookEvent::UserPromptSubmitted, snake, prompt(), "plain words").await.context, ["plain words"]);
    assert!(said(HookEvent::UserPromptSubmitted, camel, prompt(), "plain words").await.context.is_empty());

    let after = || {
        let Occasion::PreTool(call) = call("shell", "{}") else { panic!() };
        Occasion::PostTool { call, answer: "long".into() }
    };
    let verdict =
        said(HookEvent::PostToolUse, camel, after(), r#"{"modifiedResult":{"textResultForLlm":"short"}}"#).await;
    assert_eq!(verdict.text.as_deref(), Some("short"));
    let verdict = said(HookEvent::PostToolUse, snake, after(), r#"{"decision":"block","reason":"format it"}"#).await;
    assert_eq!(verdict.context, ["format it"]);
}
