//! Tool calls: denied, asked about, rewritten, and answered with more than the tool said.

use std::collections::BTreeMap;
use std::time::Duration;

use hooks::{HookFileLocation, read};
use protocol::api::DecideParams;
use protocol::{
    AskDecision, Event, HookAction, HookEvent, HookFailure, HookSpec, MailDelivery, RuleEffect, TaskOutcome,
    ToolResultStatus,
};
use runtime::SessionStart;
use testkit::session::{PlayedSession, Scenario, scenario};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::{noting, on, told_of};
use crate::support::rules;

/// A root that makes one call and tells what came of it.
fn calls(command: &str) -> String {
    rules(&format!(
        "  - when: {{ turn: 1 }}
    answer: [call: {{ id: c, tool: shell, input: {{ command: '{command}' }} }}]
  - answer: [say: 'told ${{answer}}']
"
    ))
}

fn says(event: HookEvent, json: &str) -> HookSpec {
    on(event, &noting(&format!("echo '{json}'")))
}

fn plays(command: &str) -> Scenario {
    scenario().script(&calls(command)).allow_all().prompt("go")
}

fn status(run: &PlayedSession) -> ToolResultStatus {
    let answered = run.events().iter().find_map(|envelope| match &envelope.entry.event {
        Event::CallAnswered { answer, .. } => Some(answer.status),
        _other => None,
    });
    answered.unwrap()
}

#[tokio::test]
async fn a_denied_call_does_not_run_and_its_model_hears_why() {
    let deny = r#"{"permissionDecision":"deny","permissionDecisionReason":"not on a Sunday"}"#;
    let denied = on(HookEvent::PermissionDenied, &noting("true"));
    let run = plays("touch ran").hook(says(HookEvent::PreToolUse, deny)).hook(denied).run().await;
    assert_eq!((run.file("ran"), status(&run)), (None, ToolResultStatus::Denied));
    assert!(run.text().contains("not on a Sunday"), "{}", run.text());
    assert_eq!(told_of(run.stage(), "permissionDenied").len(), 1);
}

#[tokio::test]
async fn a_hook_is_not_told_secrets() {
    let scene = plays("cat key").file("key", "the key is sk-0123456789\n").secret("sk-0123456789");
    let run = scene.hook(on(HookEvent::PostToolUse, &noting("true"))).run().await;
    let told = run.file("told").unwrap();
    assert!(told.contains("the key is ") && !told.contains("sk-0123456789"), "{told}");
}

#[tokio::test]
async fn a_hook_on_commands_sees_every_command() {
    let script = rules(
        "  - when: { agent: worker }
    answer: [say: done]
  - when: { turn: 1 }
    answer:
      - call: { id: c, tool: until, input: { command: touch ran } }
      - call: { id: d, tool: task, input: { description: d, prompt: p, agent_type: worker, name: one, expects: { command: touch ran } } }
  - answer: [say: done]
",
    );
    let guard = HookSpec { matcher: Some("Bash".into()), ..on(HookEvent::PreToolUse, "echo no shells >&2; exit 2") };
    let run = scenario().script(&script).allow_all().prompt("go").hook(guard).run().await;
    assert_eq!((run.file("ran"), status(&run)), (None, ToolResultStatus::Denied), "{}", run.transcript());
    match &run.tasks()[1].last_outcome {
        Some(TaskOutcome::Failed { message, .. }) => {
            assert!(message.contains("may not run: a hook denied it: no shells"), "{message}")
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_rewritten_call_is_what_is_judged_run_and_recorded() {
    let rewrite = r#"{"modifiedArgs":{"command":"touch safe"}}"#;
    let run = plays("touch ran").hook(says(HookEvent::PreToolUse, rewrite)).run().await;
    assert_eq!((run.file("ran"), run.file("safe").as_deref()), (None, Some("")));
    insta::assert_snapshot!(run.transcript());

    let denied = plays("echo fine").hook(says(HookEvent::PreToolUse, rewrite)).rule(RuleEffect::Deny, "shell(touch *)");
    let run = denied.run().await;
    assert_eq!((run.file("safe"), status(&run)), (None, ToolResultStatus::Denied));
}

#[tokio::test]
async fn a_hook_can_ask_and_its_allow_lifts_nothing() {
    let ask = says(HookEvent::PreToolUse, r#"{"permissionDecision":"ask","permissionDecisionReason":"sure?"}"#);
    let run = plays("touch ran").hook(ask).run().await;
    assert_eq!(run.count(|event| matches!(event, Event::AskOpened(_))), 1);
    assert_eq!((run.file("ran"), status(&run)), (None, ToolResultStatus::Denied));

    let allow = || says(HookEvent::PreToolUse, r#"{"permissionDecision":"allow"}"#);
    let permit = says(HookEvent::PermissionRequest, r#"{"behavior":"allow"}"#);
    let run = scenario().script(&calls("touch ran")).prompt("go").hook(allow()).hook(permit).run().await;
    assert_eq!((run.file("ran"), status(&run)), (None, ToolResultStatus::Denied));
    assert_eq!(told_of(run.stage(), "permissionRequest").len(), 1);
    let run = plays("touch ran").hook(allow()).rule(RuleEffect::Deny, "shell").run().await;
    assert_eq!((run.file("ran"), status(&run)), (None, ToolResultStatus::Denied));
}

#[tokio::test]
async fn a_hook_can_deny_what_a_person_would_be_asked() {
    let deny = says(HookEvent::PermissionRequest, r#"{"behavior":"deny","message":"we never do"}"#);
    let run = scenario().script(&calls("touch ran")).prompt("go").hook(deny).run().await;
    assert_eq!(run.count(|event| matches!(event, Event::AskOpened(_))), 0);
    assert!(run.text().contains("we never do"), "{}", run.text());
}

/// A hook of either family may change the rules with its decision, as far as that narrows.
#[tokio::test]
async fn rules_that_a_hook_denies_with_its_decision_hold_from_then_on() {
    let script = rules(
        "  - when: { turn: 1 }
    answer: [call: { id: c, tool: shell, input: { command: touch first } }]
  - when: { turn: 2 }
    answer: [call: { id: d, tool: shell, input: { command: echo second > second } }]
  - answer: [say: 'told ${answer}']
",
    );
    let update = r#"{"type":"addRules","behavior":"deny","rules":[{"toolName":"Bash"}],"destination":"session"}"#;
    let decision = format!(r#"{{"behavior":"deny","message":"no","updatedPermissions":[{update}]}}"#);
    let said = format!(r#"{{"hookSpecificOutput":{{"hookEventName":"PermissionRequest","decision":{decision}}}}}"#);
    let hook = says(HookEvent::PermissionRequest, &said);
    let scene = scenario().script(&script).allow_all().prompt("go").rule(RuleEffect::Ask, "shell(touch *)");
    let run = scene.hook(hook).run().await;
    assert_eq!((run.file("first"), run.file("second")), (None, None), "{}", run.transcript());
}

/// The answer of a call that starts an agent in the background is durable before hooks hear of it.
#[tokio::test]
async fn what_a_hook_puts_in_the_place_of_a_task_s_answer_reaches_the_model() {
    for mode in ["sync", "background"] {
        let script = rules(&format!(
            "  - when: {{ agent: worker }}
    answer: [say: the secret]
  - when: {{ turn: 1 }}
    answer: [call: {{ id: t, tool: task, input: {{ description: d, prompt: p, agent_type: worker, name: one, mode: {mode} }} }}]
  - answer: [say: 'told ${{answer}}']
"
        ));
        let only = says(HookEvent::PostToolUse, r#"{"updatedToolOutput":"only this"}"#);
        let run = scenario().script(&script).allow_all().prompt("go").hook(only).run().await;
        let requests = run.stage().model(run.id()).requests();
        let of_root: Vec<_> = requests.iter().filter(|request| request.agent != "worker").collect();
        assert!(of_root.iter().any(|it| format!("{:?}", it.messages).contains("only this")), "{mode}");
        if mode == "sync" {
            assert_eq!(run.text(), "told only this");
        }
    }
}

#[tokio::test]
async fn what_hooks_say_after_a_call_is_part_of_its_answer() {
    let context = says(HookEvent::PostToolUse, r#"{"additionalContext":"and mind the gap"}"#);
    let run = plays("echo out").hook(context).run().await;
    assert!(run.text().contains("out") && run.text().contains("and mind the gap"), "{}", run.text());
    let short = says(HookEvent::PostToolUse, r#"{"modifiedResult":{"textResultForLlm":"short"}}"#);
    assert_eq!(plays("echo out").hook(short).run().await.text(), "told short");

    let failed = rules(
        "  - when: { turn: 1 }
    answer: [call: { id: c, tool: view, input: { path: nowhere } }]
  - answer: [say: 'told ${answer}']
",
    );
    let failure = says(HookEvent::PostToolUseFailure, r#"{"additionalContext":"look elsewhere"}"#);
    let run = scenario().script(&failed).prompt("go").hook(failure).run().await;
    assert!(run.text().contains("look elsewhere"), "{}", run.text());
    assert_eq!(told_of(run.stage(), "postToolUseFailure")[0]["toolName"], "view");
}

#[tokio::test]
async fn what_a_person_was_asked_is_what_runs_though_the_hook_would_say_otherwise_by_now() {
    // Each time it is told, it makes another command of the call.
    let counting = "n=$(wc -l < told); echo \"{\\\"modifiedArgs\\\":{\\\"command\\\":\\\"touch ran$n\\\"}}\"";
    let stage = scenario()
        .script(&calls("touch ran"))
        .hook(on(HookEvent::PreToolUse, &noting(counting)))
        .ask_wait(None)
        .ready();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    driver.until_status("an ask", |status| status.asks == 1).await;
    let id = driver.crash().await.id();
    let mut driver = stage.open(SessionStart::Resume(id)).await;
    driver.resume().await;
    driver.until_status("the ask", |status| status.asks == 1).await;
    let asks = store::SessionReader::open(stage.home(), id).unwrap().asks(false).unwrap();
    let ask = asks[0].ask.id.clone();
    driver
        .session()
        .decide(DecideParams { ask, decision: AskDecision::Allow { rules: Vec::new(), input: None } })
        .await
        .unwrap();
    driver.rest().await;
    let run = driver.leave().await;
    assert_eq!((run.file("ran1").as_deref(), run.file("ran2")), (Some(""), None));
    assert_eq!(told_of(&stage, "preToolUse").len(), 1);
}

#[tokio::test]
async fn broken_hooks_cost_no_more_than_their_deadline() {
    let quick = |hook: HookSpec| HookSpec { timeout_ms: 300, ..hook };
    for broken in ["sleep 60", "trap '' TERM; while :; do sleep 1; done", "exit 3"] {
        let mut scene = plays("touch ran");
        for event in [HookEvent::PreToolUse, HookEvent::PostToolUse, HookEvent::AgentStop, HookEvent::SessionStart] {
            scene = scene.hook(quick(on(event, broken)));
        }
        let run = tokio::time::timeout(Duration::from_secs(20), scene.run()).await.unwrap();
        assert_eq!((run.file("ran").as_deref(), status(&run)), (Some(""), ToolResultStatus::Done), "{broken}");
    }
    // What a guard wrote and nobody could read to its end may have been a no.
    let flood = on(HookEvent::PreToolUse, "yes");
    let closed = HookSpec { failure: HookFailure::Closed, ..quick(on(HookEvent::PreToolUse, "sleep 60")) };
    for no in [flood, closed] {
        let run = plays("touch ran").hook(no).run().await;
        assert_eq!((run.file("ran"), status(&run)), (None, ToolResultStatus::Denied));
    }
}

#[tokio::test]
async fn a_file_of_either_family_guards_a_session() {
    let nested = r#"{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"grep -q 'rm -rf' && { echo dangerous >&2; exit 2; }; exit 0"}]}]}}"#;
    let flat = r#"{"version":1,"hooks":{"preToolUse":[{"type":"command","matcher":"bash","bash":"grep -q 'rm -rf' && { echo dangerous >&2; exit 2; }; exit 0"}]}}"#;
    for text in [nested, flat] {
        let (hooks, problems) = read(text, "hooks.json", &HookFileLocation::Folder);
        assert_eq!(problems, []);
        let guarded = |command: &str| hooks.iter().cloned().fold(plays(command), Scenario::hook);
        let run = guarded("touch ran").run().await;
        assert_eq!(run.file("ran").as_deref(), Some(""), "{text}");
        let run = guarded("rm -rf ran").run().await;
        assert!(run.text().contains("dangerous"), "{}", run.text());
    }
}

#[tokio::test]
async fn an_address_guards_a_session() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let mut serving = JoinSet::new();
    serving.spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut asked = Vec::new();
        // The names of the payload are in order, and this is the last.
        while !String::from_utf8_lossy(&asked).contains("transcriptPath") {
            let mut buffer = [0; 4096];
            let count = stream.read(&mut buffer).await.unwrap();
            asked.extend_from_slice(&buffer[..count]);
        }
        let said = r#"{"permissionDecision":"deny","permissionDecisionReason":"says the server"}"#;
        let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{said}", said.len());
        stream.write_all(answer.as_bytes()).await.unwrap();
    });
    let action = HookAction::Http { url, headers: BTreeMap::new(), allowed_env: Vec::new() };
    let run = plays("touch ran").hook(HookSpec { action, ..on(HookEvent::PreToolUse, "") }).run().await;
    assert_eq!((run.file("ran"), status(&run)), (None, ToolResultStatus::Denied));
    assert!(run.text().contains("says the server"), "{}", run.text());
}
