//! Hooks on sessions and prompts, transcripts for hooks, and sessions without hooks.

use std::os::unix::fs::PermissionsExt;

use protocol::api::{CommandOutcome, RefusalKind, SendParams, SessionCommand};
use protocol::{Event, HookDialect, HookEvent, HookSpec, MailDelivery};
use runtime::slash::SlashOutcome;
use runtime::{InputRejection, SessionStart};
use serde_json::Value;
use testkit::session::scenario;

use super::{command_hook, hook_inputs_of, record_input_then};
use crate::support::rules;

fn repeats() -> String {
    rules("  - answer: [say: 'heard ${prompt}']\n")
}

#[tokio::test]
async fn hooks_run_when_a_session_starts_and_ends() {
    let start =
        command_hook(HookEvent::SessionStart, &record_input_then(r#"echo '{"additionalContext":"you are on main"}'"#));
    let end = command_hook(HookEvent::SessionEnd, &record_input_then("true"));
    let stage = scenario().script(&repeats()).hook(start).hook(end).ready();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    driver.rest().await;
    let id = driver.leave().await.id();
    let requests = stage.model(id).requests();
    assert!(format!("{:?}", requests[0].messages[0]).contains("you are on main"));
    stage.open(SessionStart::Resume(id)).await.leave().await;
    let sources: Vec<Value> =
        hook_inputs_of(&stage, "sessionStart").iter().map(|told| told["source"].clone()).collect();
    assert_eq!(sources, ["new", "resume"]);
    assert_eq!(hook_inputs_of(&stage, "sessionEnd").len(), 2);
}

#[tokio::test]
async fn hooks_can_extend_change_or_refuse_a_prompt() {
    let context =
        command_hook(HookEvent::UserPromptSubmitted, &record_input_then(r#"echo '{"additionalContext":"on Sunday"}'"#));
    let run = scenario().script(&repeats()).hook(context).prompt("go").run().await;
    assert!(run.text().contains("go\n\non Sunday"), "{}", run.text());
    let change = command_hook(HookEvent::UserPromptSubmitted, r#"echo '{"modifiedPrompt":"stay"}'"#);
    assert_eq!(scenario().script(&repeats()).hook(change).prompt("go").run().await.text(), "heard stay");

    let block = command_hook(HookEvent::UserPromptSubmitted, "echo 'there is a key in it' >&2; exit 2");
    let driver = scenario().script(&repeats()).hook(block).ready().open(SessionStart::New).await;
    let sent = driver.session().send("my key is …", MailDelivery::FollowUp).await;
    assert!(matches!(&sent, Err(InputRejection::Hook(why)) if why.contains("there is a key")), "{sent:?}");
    let run = driver.leave().await;
    assert_eq!(run.count(|event| matches!(event, Event::MailAdmitted { .. })), 0);
}

#[tokio::test]
async fn the_sender_of_a_refused_prompt_gets_the_reason() {
    let block = command_hook(HookEvent::UserPromptSubmitted, "echo 'there is a key in it' >&2; exit 2");
    let stage = scenario().script(&repeats()).hook(block).ready();
    let driver = stage.open(SessionStart::New).await;
    let prompt = SendParams {
        task: None,
        text: "key".into(),
        images: Vec::new(),
        delivery: MailDelivery::FollowUp,
        display: None,
    };
    let outcome = driver.command(&SessionCommand::Send(prompt)).await;
    let refused = |message: &str| message.contains("there is a key");
    assert!(
        matches!(&outcome, CommandOutcome::Refused { kind: RefusalKind::Hook, message } if refused(message)),
        "{outcome:?}"
    );
    assert_eq!(driver.leave().await.count(|event| matches!(event, Event::MailAdmitted { .. })), 0);
}

/// A6: hooks run for a compaction that the user requests, as for an automatic one.
#[tokio::test]
async fn hooks_run_for_a_requested_compaction_of_an_idle_session() {
    let script = rules("  - answer: [say: \"${repeat:All work and no play. :400}\"]\n");
    let hook = command_hook(HookEvent::PreCompact, &record_input_then("exit 2"));
    let mut driver = scenario().script(&script).hook(hook).ready().open(SessionStart::New).await;
    for word in ["one", "two", "three"] {
        driver.send(word, MailDelivery::FollowUp).await;
        driver.rest().await;
    }
    let compacted = driver.session().dispatch("/compact").await;
    assert!(
        matches!(&compacted, SlashOutcome::Done { message, .. } if message.starts_with("a digest")),
        "{compacted:?}"
    );
    let run = driver.leave().await;
    let inputs = hook_inputs_of(run.stage(), "preCompact");
    assert_eq!((inputs.len(), &inputs[0]["trigger"]), (1, &"manual".into()), "{inputs:?}");
    assert_eq!(
        run.count(|event| matches!(event, Event::Compacted(_))),
        1,
        "a hook cannot forbid what the user requested"
    );
}

#[tokio::test]
async fn hooks_run_on_errors() {
    let script = rules("  - fail: { class: terminal, message: out of order }\n");
    let error = command_hook(HookEvent::ErrorOccurred, &record_input_then("true"));
    let run = scenario().script(&script).hook(error).prompt("go").run().await;
    let inputs = hook_inputs_of(run.stage(), "errorOccurred");
    assert!(inputs[0]["error"]["message"].as_str().unwrap().contains("out of order"), "{inputs:?}");
}

#[tokio::test]
async fn the_transcript_is_complete_and_private_before_the_hook_runs() {
    let script = rules(
        "  - when: { turn: 1 }
    answer:
      - say: first
      - call: { id: a, tool: shell, input: { command: 'echo one' } }
  - when: { turn: 2 }
    answer: [call: { id: b, tool: shell, input: { command: 'echo two' } }]
  - answer: [say: done]
",
    );
    let copy =
        "path=$(sed 's/.*\"transcript_path\":\"\\([^\"]*\\)\".*/\\1/'); cp \"$path\" copy; stat -c %a \"$path\" > mode";
    let copying = HookSpec { dialect: HookDialect::Snake, ..command_hook(HookEvent::PreToolUse, copy) };
    let run = scenario().script(&script).allow_all().hook(copying).prompt("go").run().await;
    assert_eq!(run.file("mode").unwrap().trim(), "600");
    let lines: Vec<Value> = run.file("copy").unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<&str> =
        lines.iter().map(|line| line["type"].as_str().unwrap()).filter(|kind| *kind != "system").collect();
    // The prompt, the first answer, the result of its call, and the second answer, whose call is about to be judged.
    assert_eq!(kinds, ["user", "assistant", "user", "assistant"]);
    let last = &lines.last().unwrap()["message"]["content"][0];
    assert_eq!((&last["type"], &last["input"]["command"]), (&"tool_use".into(), &"echo two".into()));
    let folder = run.stage().home().session_dir(run.id()).join("transcripts");
    assert_eq!(std::fs::metadata(folder).unwrap().permissions().mode() & 0o777, 0o700);
}

#[tokio::test]
async fn without_hooks_there_is_no_event_and_no_file() {
    let script = rules(
        "  - when: { agent: worker }
    answer: [say: done]
  - when: { turn: 1 }
    answer: [call: { tool: task, input: { description: d, prompt: p, agent_type: worker, name: one } }]
  - answer: [say: done]
",
    );
    let run = scenario().script(&script).prompt("go").run().await;
    let of_hooks = |event: &Event| {
        matches!(event, Event::StartHooksRan { .. } | Event::StopHooksRan { .. } | Event::CallRewritten { .. })
    };
    assert_eq!(run.count(of_hooks), 0);
    assert!(!run.stage().home().session_dir(run.id()).join("transcripts").exists());
}
