//! One start and one stop for each activation, however it ends and whoever owns the session by then.

use std::collections::BTreeSet;

use protocol::{Event, HookEvent, HookSpec, MailDelivery, TaskOutcome};
use runtime::SessionStart;
use serde_json::Value;
use testkit::session::{PlayedSession, Scenario, SessionDriver, SessionFixture, scenario};

use super::{noting, on, told_of};
use crate::support::{UNTIL_GO, eventually, relay, rules, script, silence, until_file};

fn start(then: &str) -> HookSpec {
    on(HookEvent::SubagentStart, &noting(then))
}

fn stop(then: &str) -> HookSpec {
    on(HookEvent::SubagentStop, &noting(then))
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

fn plays(command: &str) -> Scenario {
    scenario().script(&delegates(command)).allow_all()
}

/// Which activations hooks were told of, by everything that tells one from another but the attempt.
fn ids(told: &[Value]) -> BTreeSet<String> {
    told.iter()
        .map(|told| format!("{} {} {}", told["bosun"]["session"], told["bosun"]["agent"], told["bosun"]["activation"]))
        .collect()
}

/// Each activation that was told of when it began was told of once when it ended.
fn assert_paired(stage: &SessionFixture) -> usize {
    let (starts, stops) = (told_of(stage, "subagentStart"), told_of(stage, "subagentStop"));
    assert_eq!(ids(&starts), ids(&stops), "{starts:#?} {stops:#?}");
    let first = stops.iter().filter(|told| told["stop_hook_active"] == false).count();
    assert_eq!(first, ids(&starts).len(), "{stops:#?}");
    first
}

async fn go_on(stage: &SessionFixture, crashed: PlayedSession) -> PlayedSession {
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
async fn an_agent_that_ends_well_fails_or_is_stopped_is_told_of_twice() {
    let run = plays("true").hook(start("true")).hook(stop("true")).prompt("go").run().await;
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
    assert_eq!(told_of(run.stage(), "subagentStop")[0]["stopReason"], "failed");

    let stage = plays(&format!("touch began; {UNTIL_GO}")).hook(start("true")).hook(stop("true")).ready();
    let driver = begin(&stage).await;
    until_file(&stage.path("began")).await;
    driver.stop().await.unwrap();
    let run = driver.leave().await;
    assert_eq!(assert_paired(&stage), 1);
    assert_eq!(told_of(&stage, "subagentStop")[0]["stopReason"], "cancelled");
    assert_eq!(run.count(|event| matches!(event, Event::StopHooksRan { .. })), 1);
}

#[tokio::test]
async fn each_activation_of_an_agent_is_a_pair_of_its_own() {
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
    let greeted = run.count(|event| matches!(event, Event::StartHooksRan { .. }));
    assert_eq!(assert_paired(run.stage()), greeted, "{}", run.transcript());
    assert_eq!(greeted, 2, "{}", run.transcript());
}

#[tokio::test]
async fn an_owner_that_dies_while_the_start_is_told_tells_it_again() {
    let stage = plays("true").hook(start(&format!("touch telling; {UNTIL_GO}"))).hook(stop("true")).ready();
    let driver = begin(&stage).await;
    until_file(&stage.path("telling")).await;
    let crashed = driver.crash().await;
    assert_eq!(crashed.count(|event| matches!(event, Event::StartHooksRan { .. })), 0);
    std::fs::write(stage.path("go"), "").unwrap();
    go_on(&stage, crashed).await;
    let attempts: Vec<Value> =
        told_of(&stage, "subagentStart").iter().map(|told| told["bosun"]["attempt"].clone()).collect();
    assert_eq!(attempts, [1, 2]);
    assert_eq!(assert_paired(&stage), 1);
}

#[tokio::test]
async fn an_owner_that_dies_in_the_middle_leaves_one_stop_to_the_next() {
    let stage = plays(&format!("touch began; {UNTIL_GO}")).hook(start("true")).hook(stop("true")).ready();
    let driver = begin(&stage).await;
    until_file(&stage.path("began")).await;
    let crashed = driver.crash().await;
    go_on(&stage, crashed).await;
    assert_eq!(told_of(&stage, "subagentStart").len(), 1);
    assert_eq!(assert_paired(&stage), 1);
}

#[tokio::test]
async fn an_owner_that_dies_while_the_model_is_asked_leaves_one_stop_to_the_next() {
    let calls = script(&delegates("true"));
    let stage = scenario()
        .model(relay([calls.clone(), silence(), calls]))
        .allow_all()
        .hook(start("true"))
        .hook(stop("true"))
        .ready();
    let driver = begin(&stage).await;
    driver.asked(2).await;
    let crashed = driver.crash().await;
    go_on(&stage, crashed).await;
    assert_eq!(told_of(&stage, "subagentStart").len(), 1);
    assert_eq!(assert_paired(&stage), 1);
}

#[tokio::test]
async fn an_owner_that_dies_while_the_stop_is_told_tells_it_again() {
    let stage = plays("true").hook(start("true")).hook(stop(&format!("touch telling; {UNTIL_GO}"))).ready();
    let driver = begin(&stage).await;
    until_file(&stage.path("telling")).await;
    let crashed = driver.crash().await;
    std::fs::write(stage.path("go"), "").unwrap();
    go_on(&stage, crashed).await;
    let stops = told_of(&stage, "subagentStop");
    assert_eq!((stops.len(), ids(&stops).len()), (2, 1));
    let attempts: Vec<Value> = stops.iter().map(|told| told["bosun"]["attempt"].clone()).collect();
    assert_eq!(attempts, [1, 2], "a hook can tell the repeat");
    assert_eq!(ids(&told_of(&stage, "subagentStart")), ids(&stops));
}

#[tokio::test]
async fn an_agent_that_was_stopped_by_an_owner_that_died_is_parted_from_by_the_next() {
    let hang = format!("touch telling; {UNTIL_GO}");
    let stage = plays(&format!("touch began; {UNTIL_GO}")).hook(start("true")).hook(stop(&hang)).ready();
    let driver = begin(&stage).await;
    until_file(&stage.path("began")).await;
    driver.stop().await.unwrap();
    until_file(&stage.path("telling")).await;
    let crashed = driver.crash().await;
    assert!(matches!(crashed.tasks()[1].last_outcome, Some(TaskOutcome::Cancelled { .. })));
    assert_eq!(crashed.count(|event| matches!(event, Event::StopHooksRan { .. })), 0);
    std::fs::write(stage.path("go"), "").unwrap();
    let driver = stage.open(SessionStart::Resume(crashed.id())).await;
    eventually("the next owner's word", || told_of(&stage, "subagentStop").len() == 2).await;
    let run = driver.leave().await;
    assert_eq!(run.count(|event| matches!(event, Event::StopHooksRan { .. })), 1);
    assert_eq!(told_of(&stage, "subagentStop")[1]["stopReason"], "cancelled");
    stage.open(SessionStart::Resume(run.id())).await.leave().await;
    assert_eq!(told_of(&stage, "subagentStop").len(), 2, "it is told no more");
}

#[tokio::test]
async fn a_copy_does_not_tell_what_the_original_will() {
    let stage = plays(&format!("touch began; {UNTIL_GO}")).hook(start("true")).hook(stop("true")).ready();
    let mut driver = begin(&stage).await;
    until_file(&stage.path("began")).await;
    stage.open(SessionStart::Fork(driver.id())).await.leave().await;
    assert_eq!(told_of(&stage, "subagentStop").len(), 0);
    std::fs::write(stage.path("go"), "").unwrap();
    driver.rest().await;
    driver.leave().await;
    assert_eq!(assert_paired(&stage), 1);
}

#[tokio::test]
async fn the_roots_own_end_is_told_once_an_activation() {
    let root = on(HookEvent::AgentStop, &noting("true"));
    let stage = scenario().script(&rules("  - answer: [say: done]\n")).hook(root).ready();
    let mut driver = stage.open(SessionStart::New).await;
    for prompt in ["one", "two"] {
        driver.send(prompt, MailDelivery::FollowUp).await;
        driver.until("an end", |event| matches!(event, Event::ActivationEnded { .. })).await;
    }
    driver.rest().await;
    driver.leave().await;
    let told: Vec<Value> =
        told_of(&stage, "agentStop").iter().map(|told| told["bosun"]["activation"].clone()).collect();
    assert_eq!(told, [1, 2]);
}

#[tokio::test]
async fn an_agent_in_a_hook_is_stopped_at_once() {
    for event in [HookEvent::SubagentStart, HookEvent::PreToolUse, HookEvent::PostToolUse] {
        let stage = plays("true").hook(on(event, "grep -q agentId && touch telling && sleep 60")).ready();
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
