//! Hooks on the start and end of agents: context, a refusal at the start, and a blocked stop.

use protocol::{Event, FailKind, HookEvent, HookSpec, MailDelivery, TaskOutcome};
use runtime::SessionStart;
use testkit::session::{Scenario, scenario};

use super::{agent, command_hook, hook_inputs_of, record_input_then};
use crate::support::{UNTIL_GO, rules};

/// A root that starts one worker, which repeats its prompt.
fn delegates() -> String {
    rules(
        "  - when: { agent: worker }
    answer: [say: 'turn ${turn} heard ${prompt}']
    usage: { input: 100, output: 10 }
  - when: { turn: 1 }
    answer: [call: { id: t, tool: task, input: { description: d, prompt: the task, agent_type: worker, name: one } }]
  - answer: [say: 'told ${answer}']
",
    )
}

fn worker_scenario() -> Scenario {
    scenario().script(&delegates()).allow_all().prompt("go")
}

#[tokio::test]
async fn what_start_hooks_say_comes_before_the_prompt() {
    let start = command_hook(
        HookEvent::SubagentStart,
        &record_input_then(r#"echo '{"additionalContext":"mind the style guide"}'"#),
    );
    let run = worker_scenario().hook(start).run().await;
    insta::assert_snapshot!(run.transcript());
    let requests = run.stage().model(run.id()).requests();
    let worker = requests.iter().find(|request| request.agent == "worker").unwrap();
    let told: Vec<String> = worker.messages.iter().map(|message| format!("{message:?}")).collect();
    assert!(told[0].contains("mind the style guide") && told[1].contains("the task"), "{told:?}");
    let start = &hook_inputs_of(run.stage(), "subagentStart")[0];
    assert_eq!((&start["agentType"], &start["bosun"]["path"]), (&"worker".into(), &"/root/one".into()));
}

#[tokio::test]
async fn a_refusal_at_the_start_fails_the_agent_and_still_runs_its_stop_hooks() {
    let start = command_hook(HookEvent::SubagentStart, &record_input_then("echo 'no workers today' >&2; exit 2"));
    let stop = command_hook(HookEvent::SubagentStop, &record_input_then("true"));
    let denied = command_hook(HookEvent::PermissionDenied, &record_input_then("true"));
    let run = worker_scenario().hook(start).hook(stop).hook(denied).run().await;
    let denials = hook_inputs_of(run.stage(), "permissionDenied");
    assert_eq!((denials.len(), &denials[0]["toolName"], &denials[0]["toolCallId"]), (1, &"task".into(), &"t".into()));
    assert!(denials[0]["reason"].as_str().unwrap().contains("no workers today"), "{denials:?}");
    let Some(TaskOutcome::Failed { kind, message }) = &run.tasks()[1].last_outcome else { panic!("{:?}", run.tasks()) };
    assert_eq!(*kind, FailKind::Denied);
    assert!(message.contains("no workers today"), "{message}");
    assert!(run.text().contains("no workers today"), "{}", run.text());
    assert!(run.stage().model(run.id()).requests().iter().all(|request| request.agent != "worker"));
    let stops = hook_inputs_of(run.stage(), "subagentStop");
    assert_eq!((stops.len(), &stops[0]["stopReason"]), (1, &"failed".into()));
}

#[tokio::test]
async fn a_matcher_selects_agents() {
    let only = |name: &str| HookSpec {
        matcher: Some(name.into()),
        ..command_hook(HookEvent::SubagentStart, &record_input_then("true"))
    };
    let run = worker_scenario().hook(only("reader|worker")).hook(only("work")).run().await;
    assert_eq!(hook_inputs_of(run.stage(), "subagentStart").len(), 1);
}

#[tokio::test]
async fn a_stop_that_is_blocked_gives_the_agent_another_turn() {
    let again =
        r#"if [ -e once ]; then true; else touch once; echo '{"decision":"block","reason":"run the tests"}'; fi"#;
    let run = worker_scenario().hook(command_hook(HookEvent::SubagentStop, &record_input_then(again))).run().await;
    let stops = hook_inputs_of(run.stage(), "subagentStop");
    let active: Vec<_> = stops.iter().map(|stop| stop["stop_hook_active"].clone()).collect();
    assert_eq!(active, [false, true]);
    assert!(run.text().contains("turn 2 heard run the tests"), "{}", run.text());
    assert_eq!(run.count(|event| matches!(event, Event::StopBlocked { .. })), 1);
    assert_eq!(run.count(|event| matches!(event, Event::StopHooksRan { .. })), 1);
}

#[tokio::test]
async fn a_hook_that_always_blocks_is_obeyed_up_to_the_limit() {
    for event in [HookEvent::SubagentStop, HookEvent::AgentStop] {
        let limits = kernel::SessionLimits { max_stop_blocks: 3, ..kernel::SessionLimits::default() };
        let run = worker_scenario()
            .limits(limits)
            .hook(command_hook(event, &record_input_then("echo again >&2; exit 2")))
            .run()
            .await;
        assert_eq!(run.outcome(), Some(&TaskOutcome::Completed));
        assert_eq!(run.count(|event| matches!(event, Event::StopBlocked { .. })), 3);
        assert_eq!(run.count(|event| matches!(event, Event::StopHooksRan { .. })), 1);
    }
}

#[tokio::test]
async fn a_stop_is_not_blocked_while_its_own_agents_are_working() {
    let script = rules(&format!(
        "  - when: {{ agent: worker, turn: 1 }}
    answer: [call: {{ tool: shell, input: {{ command: '{UNTIL_GO}' }} }}]
  - when: {{ agent: worker }}
    answer: [say: done]
  - when: {{ turn: 1 }}
    answer: [call: {{ tool: task, input: {{ description: d, prompt: p, agent_type: worker, name: one, mode: background }} }}]
  - answer: [say: 'turn ${{turn}}']
"
    ));
    // The hook blocks up to its limit, and the worker ends only after the first activation.
    let block = record_input_then("if [ $(grep -c agentStop told) -lt 3 ]; then echo wait >&2; exit 2; fi");
    let stage = scenario().script(&script).allow_all().hook(command_hook(HookEvent::AgentStop, &block)).ready();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    driver.until("the end of the first activation", |event| matches!(event, Event::ActivationEnded { .. })).await;
    std::fs::write(stage.path("go"), "").unwrap();
    driver.rest().await;
    let run = driver.leave().await;
    let first = &hook_inputs_of(run.stage(), "agentStop")[0];
    assert_eq!(first["bosun"]["activation"], 1);
    let of_first =
        hook_inputs_of(run.stage(), "agentStop").iter().filter(|told| told["bosun"]["activation"] == 1).count();
    assert_eq!(of_first, 1, "the stop was blocked");
}

#[tokio::test]
async fn an_agents_own_hooks_apply_only_to_it() {
    let own = vec![
        command_hook(HookEvent::AgentStop, &record_input_then("true")),
        command_hook(HookEvent::PreToolUse, &record_input_then("true")),
    ];
    let script = rules(
        "  - when: { agent: minded|worker, turn: 1 }
    answer: [call: { tool: shell, input: { command: 'true' } }]
  - when: { agent: minded|worker }
    answer: [say: done]
  - when: { turn: 1 }
    answer:
      - call: { tool: task, input: { description: d, prompt: p, agent_type: minded, name: one } }
      - call: { tool: task, input: { description: d, prompt: p, agent_type: worker, name: two } }
      - call: { tool: shell, input: { command: 'true' } }
  - answer: [say: done]
",
    );
    let run = scenario().script(&script).agent(agent("minded", own)).allow_all().prompt("go").run().await;
    let inputs = super::hook_inputs(run.stage());
    assert!(inputs.iter().all(|inputs| inputs["agentType"] == "minded"), "{inputs:?}");
    assert_eq!(
        (hook_inputs_of(run.stage(), "preToolUse").len(), hook_inputs_of(run.stage(), "subagentStop").len()),
        (1, 1)
    );
    assert_eq!(run.count(|event| matches!(event, Event::StartHooksRan { .. })), 1);
}
