//! Agents that begin and end: context, a refusal at the start, and an end that is put off.

use protocol::{Event, FailKind, HookEvent, HookSpec, MailDelivery, TaskOutcome};
use runtime::SessionStart;
use testkit::session::{Scenario, scenario};

use super::{agent, noting, on, told_of};
use crate::support::{UNTIL_GO, rules};

/// A root that starts one worker, which repeats what it is told.
fn delegates() -> String {
    rules(
        "  - when: { agent: worker }
    answer: [say: 'turn ${turn} heard ${prompt}']
  - when: { turn: 1 }
    answer: [call: { id: t, tool: task, input: { description: d, prompt: the task, agent_type: worker, name: one } }]
  - answer: [say: 'told ${answer}']
",
    )
}

fn plays() -> Scenario {
    scenario().script(&delegates()).allow_all().prompt("go")
}

#[tokio::test]
async fn what_start_hooks_say_comes_before_the_prompt() {
    let start = on(HookEvent::SubagentStart, &noting(r#"echo '{"additionalContext":"mind the style guide"}'"#));
    let run = plays().hook(start).run().await;
    insta::assert_snapshot!(run.transcript());
    let requests = run.stage().model(run.id()).requests();
    let worker = requests.iter().find(|request| request.agent == "worker").unwrap();
    let told: Vec<String> = worker.messages.iter().map(|message| format!("{message:?}")).collect();
    assert!(told[0].contains("mind the style guide") && told[1].contains("the task"), "{told:?}");
    let start = &told_of(run.stage(), "subagentStart")[0];
    assert_eq!((&start["agentType"], &start["bosun"]["path"]), (&"worker".into(), &"/root/one".into()));
}

#[tokio::test]
async fn a_no_at_the_start_fails_the_agent_and_is_still_paired() {
    let start = on(HookEvent::SubagentStart, &noting("echo 'no workers today' >&2; exit 2"));
    let stop = on(HookEvent::SubagentStop, &noting("true"));
    let denied = on(HookEvent::PermissionDenied, &noting("true"));
    let run = plays().hook(start).hook(stop).hook(denied).run().await;
    let told = told_of(run.stage(), "permissionDenied");
    assert_eq!((told.len(), &told[0]["toolName"], &told[0]["toolCallId"]), (1, &"task".into(), &"t".into()));
    assert!(told[0]["reason"].as_str().unwrap().contains("no workers today"), "{told:?}");
    let Some(TaskOutcome::Failed { kind, message }) = &run.tasks()[1].last_outcome else { panic!("{:?}", run.tasks()) };
    assert_eq!(*kind, FailKind::Denied);
    assert!(message.contains("no workers today"), "{message}");
    assert!(run.text().contains("no workers today"), "{}", run.text());
    assert!(run.stage().model(run.id()).requests().iter().all(|request| request.agent != "worker"));
    let stops = told_of(run.stage(), "subagentStop");
    assert_eq!((stops.len(), &stops[0]["stopReason"]), (1, &"failed".into()));
}

#[tokio::test]
async fn a_matcher_chooses_agents() {
    let only = |name: &str| HookSpec { matcher: Some(name.into()), ..on(HookEvent::SubagentStart, &noting("true")) };
    let run = plays().hook(only("reader|worker")).hook(only("work")).run().await;
    assert_eq!(told_of(run.stage(), "subagentStart").len(), 1);
}

#[tokio::test]
async fn a_stop_that_is_blocked_gives_the_agent_another_turn() {
    let again =
        r#"if [ -e once ]; then true; else touch once; echo '{"decision":"block","reason":"run the tests"}'; fi"#;
    let run = plays().hook(on(HookEvent::SubagentStop, &noting(again))).run().await;
    let stops = told_of(run.stage(), "subagentStop");
    let active: Vec<_> = stops.iter().map(|stop| stop["stop_hook_active"].clone()).collect();
    assert_eq!(active, [false, true]);
    assert!(run.text().contains("turn 2 heard run the tests"), "{}", run.text());
    assert_eq!(run.count(|event| matches!(event, Event::StopBlocked { .. })), 1);
    assert_eq!(run.count(|event| matches!(event, Event::StopHooksRan { .. })), 1);
}

#[tokio::test]
async fn a_hook_that_blocks_for_ever_is_heeded_as_often_as_it_may() {
    for event in [HookEvent::SubagentStop, HookEvent::AgentStop] {
        let limits = kernel::SessionLimits { max_stop_blocks: 3, ..kernel::SessionLimits::default() };
        let run = plays().limits(limits).hook(on(event, &noting("echo again >&2; exit 2"))).run().await;
        assert_eq!(run.outcome(), Some(&TaskOutcome::Completed));
        assert_eq!(run.count(|event| matches!(event, Event::StopBlocked { .. })), 3);
        assert_eq!(run.count(|event| matches!(event, Event::StopHooksRan { .. })), 1);
    }
}

#[tokio::test]
async fn a_stop_is_not_put_off_while_agents_of_its_own_are_at_work() {
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
    // It blocks as long as it may, and the worker ends only when the first activation has.
    let block = noting("if [ $(grep -c agentStop told) -lt 3 ]; then echo wait >&2; exit 2; fi");
    let stage = scenario().script(&script).allow_all().hook(on(HookEvent::AgentStop, &block)).ready();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    driver.until("the end of the first activation", |event| matches!(event, Event::ActivationEnded { .. })).await;
    std::fs::write(stage.path("go"), "").unwrap();
    driver.rest().await;
    let run = driver.leave().await;
    let first = &told_of(run.stage(), "agentStop")[0];
    assert_eq!(first["bosun"]["activation"], 1);
    let of_first = told_of(run.stage(), "agentStop").iter().filter(|told| told["bosun"]["activation"] == 1).count();
    assert_eq!(of_first, 1, "it was put off");
}

#[tokio::test]
async fn an_agents_own_hooks_hold_for_it_alone() {
    let own = vec![on(HookEvent::AgentStop, &noting("true")), on(HookEvent::PreToolUse, &noting("true"))];
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
    let told = super::told(run.stage());
    assert!(told.iter().all(|told| told["agentType"] == "minded"), "{told:?}");
    assert_eq!((told_of(run.stage(), "preToolUse").len(), told_of(run.stage(), "subagentStop").len()), (1, 1));
    assert_eq!(run.count(|event| matches!(event, Event::StartHooksRan { .. })), 1);
}
