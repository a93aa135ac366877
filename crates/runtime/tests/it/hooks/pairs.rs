//! Start hooks and stop hooks run once per activation, however it ends and whichever process owns the session by then.

use std::collections::BTreeSet;

use protocol::{Event, HookEvent, HookSpec, MailDelivery, TaskOutcome};
use runtime::SessionStart;
use serde_json::Value;
use testkit::session::{PlayedSession, Scenario, SessionDriver, SessionFixture, scenario};

use super::{command_hook, hook_inputs_of, record_input_then};
use crate::support::{UNTIL_GO, eventually, relay, rules, script, silent_model, until_file};

fn start(then: &str) -> HookSpec {
    command_hook(HookEvent::SubagentStart, &record_input_then(then))
}

fn stop(then: &str) -> HookSpec {
    command_hook(HookEvent::SubagentStop, &record_input_then(then))
}

/// A root that starts a worker, which makes this call and is done.
fn delegates(command: &str) -> String {
    rules(&format!(
        "  - when: {{ agent: worker, turn: 1 }}
    answer: [call: {{ id: s, tool: shell, input: {{ command: '{command}' }} }}]
  - when: {{ agent: worker }}
    answer: [say: done]
  - when: {{ turn: 1 }}
    answer: [call: {{ id: t, tool: task, input: {{ description: d, prompt: p, agent_type: worker, name: one }} }}]
  - answer: [say: over]
"
    ))
}

fn worker_scenario(command: &str) -> Scenario {
    scenario().script(&delegates(command)).allow_all()
}

/// The activations in hook inputs, identified by everything except the attempt.
fn activation_ids(told: &[Value]) -> BTreeSet<String> {
    told.iter()
        .map(|told| format!("{} {} {}", told["bosun"]["session"], told["bosun"]["agent"], told["bosun"]["activation"]))
        .collect()
}

/// Checks that each activation with start hooks had stop hooks once; returns the number of activations.
fn assert_paired(stage: &SessionFixture) -> usize {
    let (starts, stops) = (hook_inputs_of(stage, "subagentStart"), hook_inputs_of(stage, "subagentStop"));
    assert_eq!(activation_ids(&starts), activation_ids(&stops), "{starts:#?} {stops:#?}");
    let first = stops.iter().filter(|told| told["stop_hook_active"] == false).count();
    assert_eq!(first, activation_ids(&starts).len(), "{stops:#?}");
    first
}

async fn resume_to_end(stage: &SessionFixture, crashed: PlayedSession) -> PlayedSession {
    let mut driver = stage.open(SessionStart::Resume(crashed.id())).await;
    driver.resume().await;
    driver.rest().await;
    driver.leave().await
}

async fn begin(stage: &SessionFixture) -> SessionDriver {
    let driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    driver
}

#[tokio::test]
async fn start_and_stop_hooks_run_whether_an_agent_succeeds_fails_or_is_stopped() {
    let run = worker_scenario("true").hook(start("true")).hook(stop("true")).prompt("go").run().await;
    assert_eq!(assert_paired(run.stage()), 1);

    let failing = rules(
        "  - when: { agent: worker }
    fail: { class: terminal, message: broken }
  - when: { turn: 1 }
    answer: [call: { id: t, tool: task, input: { description: d, prompt: p, agent_type: worker, name: one } }]
  - answer: [say: over]
",
    );
    let run = scenario().script(&failing).hook(start("true")).hook(stop("true")).prompt("go").run().await;
    assert_eq!(assert_paired(run.stage()), 1);
    assert_eq!(hook_inputs_of(run.stage(), "subagentStop")[0]["stopReason"], "failed");

    let stage = worker_scenario(&format!("touch began; {UNTIL_GO}")).hook(start("true")).hook(stop("true")).ready();
    let driver = begin(&stage).await;
    until_file(&stage.path("began")).await;
    driver.stop().await.unwrap();
    let run = driver.leave().await;
    assert_eq!(assert_paired(&stage), 1);
    assert_eq!(hook_inputs_of(&stage, "subagentStop")[0]["stopReason"], "cancelled");
    assert_eq!(run.count(|event| matches!(event, Event::StopHooksRan { .. })), 1);
}

#[tokio::test]
async fn each_activation_of_an_agent_has_its_own_pair() {
    let script = rules(
        "  - when: { agent: worker }
    answer: [say: 'heard ${prompt}']
  - when: { turn: 1 }
    answer: [call: { tool: task, input: { description: d, prompt: p, agent_type: worker, name: one } }]
  - when: { turn: 2 }
    answer: [call: { tool: write_agent, input: { to: [one], message: more } }]
  - when: { turn: 3 }
    answer: [call: { tool: wait, input: { on: [one] } }]
  - answer: [say: over]
",
    );
    let run = scenario().script(&script).allow_all().hook(start("true")).hook(stop("true")).prompt("go").run().await;
    let start_hook_runs = run.count(|event| matches!(event, Event::StartHooksRan { .. }));
    assert_eq!(assert_paired(run.stage()), start_hook_runs, "{}", run.transcript());
    assert_eq!(start_hook_runs, 2, "{}", run.transcript());
}

#[tokio::test]
async fn start_hooks_run_again_if_the_owner_dies_while_they_run() {
    let stage = worker_scenario("true").hook(start(&format!("touch telling; {UNTIL_GO}"))).hook(stop("true")).ready();
    let driver = begin(&stage).await;
    until_file(&stage.path("telling")).await;
    let crashed = driver.crash().await;
    assert_eq!(crashed.count(|event| matches!(event, Event::StartHooksRan { .. })), 0);
    std::fs::write(stage.path("go"), "").unwrap();
    resume_to_end(&stage, crashed).await;
    let attempts: Vec<Value> =
        hook_inputs_of(&stage, "subagentStart").iter().map(|told| told["bosun"]["attempt"].clone()).collect();
    assert_eq!(attempts, [1, 2]);
    assert_eq!(assert_paired(&stage), 1);
}

#[tokio::test]
async fn stop_hooks_run_once_if_the_owner_dies_during_a_call() {
    let stage = worker_scenario(&format!("touch began; {UNTIL_GO}")).hook(start("true")).hook(stop("true")).ready();
    let driver = begin(&stage).await;
    until_file(&stage.path("began")).await;
    let crashed = driver.crash().await;
    resume_to_end(&stage, crashed).await;
    assert_eq!(hook_inputs_of(&stage, "subagentStart").len(), 1);
    assert_eq!(assert_paired(&stage), 1);
}

#[tokio::test]
async fn stop_hooks_run_once_if_the_owner_dies_during_a_request() {
    let calls = script(&delegates("true"));
    let stage = scenario()
        .model(relay([calls.clone(), silent_model(), calls]))
        .allow_all()
        .hook(start("true"))
        .hook(stop("true"))
        .ready();
    let driver = begin(&stage).await;
    driver.asked(2).await;
    let crashed = driver.crash().await;
    resume_to_end(&stage, crashed).await;
    assert_eq!(hook_inputs_of(&stage, "subagentStart").len(), 1);
    assert_eq!(assert_paired(&stage), 1);
}

#[tokio::test]
async fn stop_hooks_run_again_if_the_owner_dies_while_they_run() {
    let stage = worker_scenario("true").hook(start("true")).hook(stop(&format!("touch telling; {UNTIL_GO}"))).ready();
    let driver = begin(&stage).await;
    until_file(&stage.path("telling")).await;
    let crashed = driver.crash().await;
    std::fs::write(stage.path("go"), "").unwrap();
    resume_to_end(&stage, crashed).await;
    let stops = hook_inputs_of(&stage, "subagentStop");
    assert_eq!((stops.len(), activation_ids(&stops).len()), (2, 1));
    let attempts: Vec<Value> = stops.iter().map(|told| told["bosun"]["attempt"].clone()).collect();
    assert_eq!(attempts, [1, 2], "a hook can recognise the repetition");
    assert_eq!(activation_ids(&hook_inputs_of(&stage, "subagentStart")), activation_ids(&stops));
}

#[tokio::test]
async fn the_next_owner_runs_the_stop_hooks_of_a_cancelled_agent() {
    let hang = format!("touch telling; {UNTIL_GO}");
    let stage = worker_scenario(&format!("touch began; {UNTIL_GO}")).hook(start("true")).hook(stop(&hang)).ready();
    let driver = begin(&stage).await;
    until_file(&stage.path("began")).await;
    driver.stop().await.unwrap();
    until_file(&stage.path("telling")).await;
    let crashed = driver.crash().await;
    assert!(matches!(crashed.tasks()[1].last_outcome, Some(TaskOutcome::Cancelled { .. })));
    assert_eq!(crashed.count(|event| matches!(event, Event::StopHooksRan { .. })), 0);
    std::fs::write(stage.path("go"), "").unwrap();
    let driver = stage.open(SessionStart::Resume(crashed.id())).await;
    eventually("the stop hooks of the next owner", || hook_inputs_of(&stage, "subagentStop").len() == 2).await;
    let run = driver.leave().await;
    assert_eq!(run.count(|event| matches!(event, Event::StopHooksRan { .. })), 1);
    assert_eq!(hook_inputs_of(&stage, "subagentStop")[1]["stopReason"], "cancelled");
    stage.open(SessionStart::Resume(run.id())).await.leave().await;
    assert_eq!(hook_inputs_of(&stage, "subagentStop").len(), 2, "the stop hooks do not run again");
}

#[tokio::test]
async fn a_fork_does_not_run_the_stop_hooks_of_the_original() {
    let stage = worker_scenario(&format!("touch began; {UNTIL_GO}")).hook(start("true")).hook(stop("true")).ready();
    let mut driver = begin(&stage).await;
    until_file(&stage.path("began")).await;
    stage.open(SessionStart::Fork(driver.id())).await.leave().await;
    assert_eq!(hook_inputs_of(&stage, "subagentStop").len(), 0);
    std::fs::write(stage.path("go"), "").unwrap();
    driver.rest().await;
    driver.leave().await;
    assert_eq!(assert_paired(&stage), 1);
}

#[tokio::test]
async fn stop_hooks_of_the_root_run_once_per_activation() {
    let root = command_hook(HookEvent::AgentStop, &record_input_then("true"));
    let stage = scenario().script(&rules("  - answer: [say: done]\n")).hook(root).ready();
    let mut driver = stage.open(SessionStart::New).await;
    for prompt in ["one", "two"] {
        driver.send(prompt, MailDelivery::FollowUp).await;
        driver.until("an end", |event| matches!(event, Event::ActivationEnded { .. })).await;
    }
    driver.rest().await;
    driver.leave().await;
    let activations: Vec<Value> = hook_inputs_of(&stage, "agentStop")
        .iter()
        .map(|activations| activations["bosun"]["activation"].clone())
        .collect();
    assert_eq!(activations, [1, 2]);
}

#[tokio::test]
async fn an_agent_whose_hook_is_running_is_stopped_at_once() {
    for event in [HookEvent::SubagentStart, HookEvent::PreToolUse, HookEvent::PostToolUse] {
        let stage =
            worker_scenario("true").hook(command_hook(event, "grep -q agentId && touch telling && sleep 60")).ready();
        let driver = begin(&stage).await;
        until_file(&stage.path("telling")).await;
        let before = std::time::Instant::now();
        driver.stop().await.unwrap();
        let mut driver = driver;
        driver.rest().await;
        assert!(before.elapsed() < std::time::Duration::from_secs(2), "{event:?} {:?}", before.elapsed());
        let run = driver.leave().await;
        assert!(matches!(run.tasks()[1].last_outcome, Some(TaskOutcome::Cancelled { .. })), "{:?}", run.tasks()[1]);
    }
}
