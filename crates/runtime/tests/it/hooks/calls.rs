//! Hooks on tool calls: they deny, ask, rewrite, and add to the answer.

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

use super::{command_hook, hook_inputs_of, record_input_then};
use crate::support::rules;

/// A root that makes one call and repeats its answer.
fn calls(command: &str) -> String {
    rules(&format!(
        "  - when: {{ turn: 1 }}
    answer: [call: {{ id: c, tool: shell, input: {{ command: '{command}' }} }}]
  - answer: [say: 'told ${{answer}}']
"
    ))
}

fn answering_hook(event: HookEvent, json: &str) -> HookSpec {
    command_hook(event, &record_input_then(&format!("echo '{json}'")))
}

fn call_scenario(command: &str) -> Scenario {
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
async fn a_denied_call_does_not_run_and_the_model_gets_the_reason() {
    let deny = r#"{"permissionDecision":"deny","permissionDecisionReason":"not on a Sunday"}"#;
    let denied = command_hook(HookEvent::PermissionDenied, &record_input_then("true"));
    let run = call_scenario("touch ran").hook(answering_hook(HookEvent::PreToolUse, deny)).hook(denied).run().await;
    assert_eq!((run.file("ran"), status(&run)), (None, ToolResultStatus::Denied));
    assert!(run.text().contains("not on a Sunday"), "{}", run.text());
    assert_eq!(hook_inputs_of(run.stage(), "permissionDenied").len(), 1);
}

#[tokio::test]
async fn hook_inputs_contain_no_secrets() {
    let scene = call_scenario("cat key").file("key", "the key is sk-0123456789\n").secret("sk-0123456789");
    let run = scene.hook(command_hook(HookEvent::PostToolUse, &record_input_then("true"))).run().await;
    let inputs = run.file("told").unwrap();
    assert!(inputs.contains("the key is ") && !inputs.contains("sk-0123456789"), "{inputs}");
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
    let guard =
        HookSpec { matcher: Some("Bash".into()), ..command_hook(HookEvent::PreToolUse, "echo no shells >&2; exit 2") };
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
    let run = call_scenario("touch ran").hook(answering_hook(HookEvent::PreToolUse, rewrite)).run().await;
    assert_eq!((run.file("ran"), run.file("safe").as_deref()), (None, Some("")));
    insta::assert_snapshot!(run.transcript());

    let denied = call_scenario("echo fine")
        .hook(answering_hook(HookEvent::PreToolUse, rewrite))
        .rule(RuleEffect::Deny, "shell(touch *)");
    let run = denied.run().await;
    assert_eq!((run.file("safe"), status(&run)), (None, ToolResultStatus::Denied));
}

#[tokio::test]
async fn a_hook_can_ask_and_its_allow_overrides_nothing() {
    let ask =
        answering_hook(HookEvent::PreToolUse, r#"{"permissionDecision":"ask","permissionDecisionReason":"sure?"}"#);
    let run = call_scenario("touch ran").hook(ask).run().await;
    assert_eq!(run.count(|event| matches!(event, Event::AskOpened(_))), 1);
    assert_eq!((run.file("ran"), status(&run)), (None, ToolResultStatus::Denied));

    let allow = || answering_hook(HookEvent::PreToolUse, r#"{"permissionDecision":"allow"}"#);
    let permit = answering_hook(HookEvent::PermissionRequest, r#"{"behavior":"allow"}"#);
    let run = scenario().script(&calls("touch ran")).prompt("go").hook(allow()).hook(permit).run().await;
    assert_eq!((run.file("ran"), status(&run)), (None, ToolResultStatus::Denied));
    assert_eq!(hook_inputs_of(run.stage(), "permissionRequest").len(), 1);
    let run = call_scenario("touch ran").hook(allow()).rule(RuleEffect::Deny, "shell").run().await;
    assert_eq!((run.file("ran"), status(&run)), (None, ToolResultStatus::Denied));
}

#[tokio::test]
async fn a_hook_can_deny_what_the_user_would_be_asked() {
    let deny = answering_hook(HookEvent::PermissionRequest, r#"{"behavior":"deny","message":"we never do"}"#);
    let run = scenario().script(&calls("touch ran")).prompt("go").hook(deny).run().await;
    assert_eq!(run.count(|event| matches!(event, Event::AskOpened(_))), 0);
    assert!(run.text().contains("we never do"), "{}", run.text());
}

/// A hook of either dialect may change the rules with its decision, but only to narrow them.
#[tokio::test]
async fn deny_rules_from_a_hooks_decision_apply_from_then_on() {
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
    let output = format!(r#"{{"hookSpecificOutput":{{"hookEventName":"PermissionRequest","decision":{decision}}}}}"#);
    let hook = answering_hook(HookEvent::PermissionRequest, &output);
    let scene = scenario().script(&script).allow_all().prompt("go").rule(RuleEffect::Ask, "shell(touch *)");
    let run = scene.hook(hook).run().await;
    assert_eq!((run.file("first"), run.file("second")), (None, None), "{}", run.transcript());
}

/// The answer of a call that starts a background agent is durable before hooks run.
#[tokio::test]
async fn a_hooks_replacement_of_a_task_answer_reaches_the_model() {
    for mode in ["sync", "background"] {
        let script = rules(&format!(
            "  - when: {{ agent: worker }}
    answer: [say: the secret]
  - when: {{ turn: 1 }}
    answer: [call: {{ id: t, tool: task, input: {{ description: d, prompt: p, agent_type: worker, name: one, mode: {mode} }} }}]
  - answer: [say: 'told ${{answer}}']
"
        ));
        let only = answering_hook(HookEvent::PostToolUse, r#"{"updatedToolOutput":"only this"}"#);
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
async fn the_context_of_hooks_after_a_call_is_part_of_its_answer() {
    let context = answering_hook(HookEvent::PostToolUse, r#"{"additionalContext":"and mind the gap"}"#);
    let run = call_scenario("echo out").hook(context).run().await;
    assert!(run.text().contains("out") && run.text().contains("and mind the gap"), "{}", run.text());
    let short = answering_hook(HookEvent::PostToolUse, r#"{"modifiedResult":{"textResultForLlm":"short"}}"#);
    assert_eq!(call_scenario("echo out").hook(short).run().await.text(), "told short");

    let failed = rules(
        "  - when: { turn: 1 }
    answer: [call: { id: c, tool: view, input: { path: nowhere } }]
  - answer: [say: 'told ${answer}']
",
    );
    let failure = answering_hook(HookEvent::PostToolUseFailure, r#"{"additionalContext":"look elsewhere"}"#);
    let run = scenario().script(&failed).prompt("go").hook(failure).run().await;
    assert!(run.text().contains("look elsewhere"), "{}", run.text());
    assert_eq!(hook_inputs_of(run.stage(), "postToolUseFailure")[0]["toolName"], "view");
}

#[tokio::test]
async fn the_call_that_the_user_approved_runs_although_the_hook_would_now_change_it() {
    // Each time it runs, the hook changes the call to another command.
    let counting = "n=$(wc -l < told); echo \"{\\\"modifiedArgs\\\":{\\\"command\\\":\\\"touch ran$n\\\"}}\"";
    let stage = scenario()
        .script(&calls("touch ran"))
        .hook(command_hook(HookEvent::PreToolUse, &record_input_then(counting)))
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
    assert_eq!(hook_inputs_of(&stage, "preToolUse").len(), 1);
}

#[tokio::test]
async fn broken_hooks_take_no_longer_than_their_timeout() {
    let quick = |hook: HookSpec| HookSpec { timeout_ms: 300, ..hook };
    for broken in ["sleep 60", "trap '' TERM; while :; do sleep 1; done", "exit 3"] {
        let mut scene = call_scenario("touch ran");
        for event in [HookEvent::PreToolUse, HookEvent::PostToolUse, HookEvent::AgentStop, HookEvent::SessionStart] {
            scene = scene.hook(quick(command_hook(event, broken)));
        }
        let run = tokio::time::timeout(Duration::from_secs(20), scene.run()).await.unwrap();
        assert_eq!((run.file("ran").as_deref(), status(&run)), (Some(""), ToolResultStatus::Done), "{broken}");
    }
    // Output of a hook that could not be read to its end may have been a denial.
    let flood = command_hook(HookEvent::PreToolUse, "yes");
    let closed = HookSpec { failure: HookFailure::Closed, ..quick(command_hook(HookEvent::PreToolUse, "sleep 60")) };
    for no in [flood, closed] {
        let run = call_scenario("touch ran").hook(no).run().await;
        assert_eq!((run.file("ran"), status(&run)), (None, ToolResultStatus::Denied));
    }
}

#[tokio::test]
async fn a_hook_file_of_either_dialect_guards_a_session() {
    let nested = r#"{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"grep -q 'rm -rf' && { echo dangerous >&2; exit 2; }; exit 0"}]}]}}"#;
    let flat = r#"{"version":1,"hooks":{"preToolUse":[{"type":"command","matcher":"bash","bash":"grep -q 'rm -rf' && { echo dangerous >&2; exit 2; }; exit 0"}]}}"#;
    for text in [nested, flat] {
        let (hooks, problems) = read(text, "hooks.json", &HookFileLocation::Folder);
        assert_eq!(problems, []);
        let guarded = |command: &str| hooks.iter().cloned().fold(call_scenario(command), Scenario::hook);
        let run = guarded("touch ran").run().await;
        assert_eq!(run.file("ran").as_deref(), Some(""), "{text}");
        let run = guarded("rm -rf ran").run().await;
        assert!(run.text().contains("dangerous"), "{}", run.text());
    }
}

#[tokio::test]
async fn an_http_hook_guards_a_session() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let mut serving = JoinSet::new();
    serving.spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = Vec::new();
        // The keys of the payload are sorted, and this is the last one.
        while !String::from_utf8_lossy(&request).contains("transcriptPath") {
            let mut buffer = [0; 4096];
            let count = stream.read(&mut buffer).await.unwrap();
            request.extend_from_slice(&buffer[..count]);
        }
        let decision = r#"{"permissionDecision":"deny","permissionDecisionReason":"says the server"}"#;
        let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{decision}", decision.len());
        stream.write_all(answer.as_bytes()).await.unwrap();
    });
    let action = HookAction::Http { url, headers: BTreeMap::new(), allowed_env: Vec::new() };
    let run =
        call_scenario("touch ran").hook(HookSpec { action, ..command_hook(HookEvent::PreToolUse, "") }).run().await;
    assert_eq!((run.file("ran"), status(&run)), (None, ToolResultStatus::Denied));
    assert!(run.text().contains("says the server"), "{}", run.text());
}
