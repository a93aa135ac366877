//! Hooks apply to every agent of the tree, at any depth, in the background, and under the next owner.

use protocol::{Event, HookEvent, MailDelivery, RuleEffect, ToolResultStatus};
use runtime::SessionStart;
use testkit::session::{PlayedSession, scenario};

use super::{agent, command_hook, hook_inputs_of, record_input_then};
use crate::support::{UNTIL_GO, rules, until_file};

/// Agents that start each other three deep, each with a shell call of its own first.
fn deep(mode: &str) -> String {
    rules(&format!(
        "  - when: {{ turn: 1 }}
    answer: [call: {{ tool: shell, input: {{ command: 'echo ${{path}} >> witness' }} }}]
  - when: {{ path: /root/one/two/three }}
    answer: [say: deepest]
  - when: {{ path: /root/one/two, turn: 2 }}
    answer: [call: {{ tool: task, input: {{ description: d, prompt: p, agent_type: worker, name: three }} }}]
  - when: {{ path: /root/one, turn: 2 }}
    answer: [call: {{ tool: task, input: {{ description: d, prompt: p, agent_type: worker, name: two }} }}]
  - when: {{ path: /root, turn: 2 }}
    answer: [call: {{ tool: task, input: {{ description: d, prompt: p, agent_type: worker, name: one{mode} }} }}]
  - answer: [say: done]
"
    ))
}

fn calls(run: &PlayedSession) -> usize {
    run.count(|event| matches!(event, Event::CallAnswered { .. }))
}

#[tokio::test]
async fn hooks_run_for_every_call_at_every_depth() {
    for mode in ["", ", mode: background"] {
        let scene = scenario().script(&deep(mode)).allow_all().prompt("go");
        let scene = scene.hook(command_hook(HookEvent::PreToolUse, &record_input_then("true")));
        let run = scene.hook(command_hook(HookEvent::PostToolUse, &record_input_then("true"))).run().await;
        assert_eq!(calls(&run), 7, "{}", run.transcript());
        let (before, after) = (hook_inputs_of(run.stage(), "preToolUse"), hook_inputs_of(run.stage(), "postToolUse"));
        assert_eq!((before.len(), after.len()), (7, 7), "{mode}");
        for depth in 0..=3 {
            let at_depth = before.iter().filter(|told| told["bosun"]["depth"] == depth).count();
            assert_eq!(at_depth, if depth == 3 { 1 } else { 2 });
        }
    }
}

#[tokio::test]
async fn a_hooks_denial_and_a_deny_rule_apply_at_every_depth() {
    let deny = command_hook(HookEvent::PreToolUse, "grep -q '\"toolName\":\"bash\"' && exit 2; exit 0");
    let run = scenario().script(&deep("")).allow_all().prompt("go").hook(deny).run().await;
    assert_eq!(run.file("witness"), None);
    let denied = |run: &PlayedSession| {
        run.count(
            |event| matches!(event, Event::CallAnswered { answer, .. } if answer.status == ToolResultStatus::Denied),
        )
    };
    assert_eq!(denied(&run), 4);
    let allow = command_hook(HookEvent::PreToolUse, r#"echo '{"permissionDecision":"allow"}'"#);
    let run = scenario().script(&deep("")).allow_all().rule(RuleEffect::Deny, "shell").prompt("go").hook(allow);
    let run = run.run().await;
    assert_eq!((run.file("witness"), denied(&run)), (None, 4));
}

#[tokio::test]
async fn under_the_next_owner_hooks_run_once_per_call() {
    let script = rules(&format!(
        "  - when: {{ agent: worker, turn: 1 }}
    answer:
      - call: {{ id: a, tool: shell, input: {{ command: 'touch began; {UNTIL_GO}' }} }}
      - call: {{ id: b, tool: shell, input: {{ command: echo b >> witness }} }}
  - when: {{ agent: worker, turn: 2 }}
    answer: [call: {{ id: c, tool: shell, input: {{ command: echo c >> witness }} }}]
  - when: {{ turn: 1 }}
    answer: [call: {{ id: t, tool: task, input: {{ description: d, prompt: p, agent_type: worker, name: one }} }}]
  - answer: [say: done]
"
    ));
    let stage = scenario()
        .script(&script)
        .allow_all()
        .hook(command_hook(HookEvent::PreToolUse, &record_input_then("true")))
        .ready();
    let driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    until_file(&stage.path("began")).await;
    let id = driver.crash().await.id();
    let mut driver = stage.open(SessionStart::Resume(id)).await;
    driver.resume().await;
    driver.rest().await;
    let run = driver.leave().await;
    assert_eq!(run.file("witness").unwrap(), "b\nc\n");
    let mut told: Vec<String> =
        hook_inputs_of(&stage, "preToolUse").iter().map(|told| told["toolCallId"].to_string()).collect();
    told.sort();
    // The hooks of the second call ran before the owner died, but the call had not started: its hooks run again.
    assert_eq!(told, ["\"a\"", "\"b\"", "\"b\"", "\"c\"", "\"t\""]);
}

#[tokio::test]
async fn hooks_of_a_definition_that_is_no_longer_in_use_do_not_run() {
    let call = "[call: { tool: shell, input: { command: echo x >> witness } }]";
    let turn = |turn: u32| format!("  - when: {{ turn: {turn} }}\n    answer: {call}\n");
    let script = rules(&format!("{}{}  - answer: [say: done]\n", turn(1), turn(3)));
    let main = agent("guarded", vec![command_hook(HookEvent::PreToolUse, &record_input_then("true"))]);
    let stage = scenario().script(&script).allow_all().main(main.clone()).ready();
    let mut hook_runs = Vec::new();
    let mut start = SessionStart::New;
    for main in [Some(main), None] {
        stage.set_main(main);
        let mut driver = stage.open(start).await;
        driver.send("go", MailDelivery::FollowUp).await;
        driver.rest().await;
        let run = driver.leave().await;
        hook_runs.push(hook_inputs_of(&stage, "preToolUse").len());
        assert!(!serde_json::to_string(run.events()).unwrap().contains("printf"), "the log has no hooks");
        start = SessionStart::Resume(run.id());
    }
    // The session still has the agent, but not its hooks: the file that defined them is no longer in use.
    assert_eq!((hook_runs, stage.file("witness").as_deref()), (vec![1, 1], Some("x\nx\n")));
}
