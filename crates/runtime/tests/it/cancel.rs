//! Stopping an agent, a tree or everything, whatever it is in the middle of.

use std::fs;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, Instant};

use model::Facts;
use protocol::api::{Method, StopTaskParams, TaskView};
use protocol::{Cancel, CancelBy, Delivery, Event, Outcome, RuleEffect, TaskId, TaskState};
use rpc::Client;
use runtime::{Start, Status};
use serde_json::Value;
use testkit::session::{Driver, Run, Scenario, scenario};

use crate::support::{Known, UNTIL_GO, breathe, eventually, rules, script};

/// Longest time that an abort may take.
const AT_ONCE: Duration = Duration::from_secs(2);

/// Where an agent is stuck.
struct Stuck {
    /// The rules of `/root/stuck`, and of those below it.
    rules: String,
    /// The event of it after which it is.
    since: fn(&Event) -> bool,
}

fn stuck(rules: &str, since: fn(&Event) -> bool) -> Stuck {
    Stuck { rules: rules.into(), since }
}

/// A call that never ends by itself.
fn calls(tool: &str, input: &str, since: fn(&Event) -> bool) -> Stuck {
    let rules = format!(
        "  - when: {{ path: /root/stuck }}
    answer:
      - say: I try
      - call: {{ id: endless, tool: {tool}, input: {input} }}
"
    );
    Stuck { rules, since }
}

fn starts(name: &str, mode: &str) -> String {
    format!(
        "      - call: {{ id: {name}, tool: task, input: {{ description: work, prompt: work, agent_type: worker, name: \
         {name}, mode: {mode} }} }}"
    )
}

fn asks_its_model(event: &Event) -> bool {
    matches!(event, Event::TurnBegun { .. })
}

fn has_failed_once(event: &Event) -> bool {
    matches!(event, Event::TurnFailed { .. })
}

fn runs_a_call(event: &Event) -> bool {
    matches!(event, Event::CallStarted { call } if call.0 == "endless")
}

fn waits(event: &Event) -> bool {
    matches!(event, Event::WaitBegan { call, .. } if call.0 == "endless")
}

fn asks_a_person(event: &Event) -> bool {
    matches!(event, Event::Asked(_))
}

fn find(driver: &Driver, path: &str) -> Option<TaskView> {
    driver.tasks().into_iter().find(|task| task.path == path)
}

fn task(driver: &Driver, path: &str) -> TaskView {
    find(driver, path).unwrap_or_else(|| panic!("there is no {path}"))
}

async fn stop(driver: &Driver, task: TaskId, how: Cancel) {
    let (client, _notifications) = Client::connect(&driver.session().home().socket(driver.id())).await.unwrap();
    let _: Value = client.call(Method::TasksStop, StopTaskParams { task, how }).await.unwrap();
}

/// Waits for an event of one task.
async fn until(driver: &mut Driver, path: &str, wanted: fn(&Event) -> bool) {
    loop {
        let envelope = driver.until(path, wanted).await;
        if find(driver, path).is_some_and(|task| task.id == envelope.entry.task) {
            return;
        }
    }
}

/// Begins a tree: a sibling that works on, and an agent that gets stuck while the root waits for it. There is room for
/// these two only.
async fn begin(base: Scenario, stuck: &Stuck) -> Driver {
    let script = rules(&format!(
        "{}  - when: {{ path: /root/sibling, turn: 1 }}
    answer:
      - call: {{ tool: shell, input: {{ command: 'touch busy; {UNTIL_GO}' }} }}
  - when: {{ agent: worker }}
    answer: [say: done]
  - when: {{ turn: 1 }}
    answer:
{}
  - when: {{ turn: 2 }}
    answer:
{}
  - when: {{ turn: 3 }}
    answer:
{}
  - answer: [say: 'all is well']
",
        stuck.rules,
        starts("sibling", "background"),
        starts("stuck", "sync"),
        starts("after", "sync"),
    ));
    let limits = kernel::Limits { live: 2, ..kernel::Limits::default() };
    let mut driver = base.script(&script).limits(limits).ready().open(Start::New).await;
    driver.send("go", Delivery::FollowUp).await;
    until(&mut driver, "/root/stuck", stuck.since).await;
    let busy = driver.stage().path("busy");
    eventually("the sibling at work", || busy.exists()).await;
    driver
}

/// Aborts the one that is stuck: it is over in time, its waiter goes on, its slot is free, its sibling works on.
async fn abort(mut driver: Driver) -> Run {
    let began = Instant::now();
    stop(&driver, task(&driver, "/root/stuck").id, Cancel::Abort).await;
    assert!(began.elapsed() < AT_ONCE, "{:?}", began.elapsed());
    let cancelled = Outcome::Cancelled { by: CancelBy::User };
    assert_eq!(task(&driver, "/root/stuck").state, TaskState::Finished { outcome: cancelled });
    driver.until_status("the root at rest", |status| status.root == Some(TaskState::Idle)).await;
    assert_eq!(task(&driver, "/root/after").last_outcome, Some(Outcome::Completed));
    assert_eq!(task(&driver, "/root/sibling").state, TaskState::Running);
    fs::write(driver.stage().path("go"), "").unwrap();
    driver.rest().await;
    assert_eq!(task(&driver, "/root/sibling").last_outcome, Some(Outcome::Completed));
    let run = driver.leave().await;
    assert_eq!(run.text(), "all is well");
    run
}

async fn is_aborted(base: Scenario, stuck: Stuck) -> Run {
    abort(begin(base, &stuck).await).await
}

fn free() -> Scenario {
    scenario().allow_all()
}

#[tokio::test]
async fn q12_a_model_that_never_begins() {
    let silent = "  - when: { path: /root/stuck }\n    answer: [hang: true]\n";
    is_aborted(free(), stuck(silent, asks_its_model)).await;
}

#[tokio::test]
async fn q12_a_model_that_stops_in_the_middle_and_its_words_are_kept() {
    let half = "  - when: { path: /root/stuck }\n    answer:\n      - say: half a\n      - hang: true\n";
    let driver = begin(free(), &stuck(half, asks_its_model)).await;
    driver.asked(3).await;
    // The words are on their way as soon as it is asked.
    breathe().await;
    let run = abort(driver).await;
    let stuck = run.tasks().iter().find(|task| task.path == "/root/stuck").unwrap();
    assert_eq!(stuck.result.as_deref(), Some("half a"));
}

#[tokio::test]
async fn q12_a_retry_that_waits() {
    let slow = "  - when: { path: /root/stuck }\n    fail: { class: retry-after, after: 50s, message: slow down }\n";
    is_aborted(free(), stuck(slow, has_failed_once)).await;
}

#[tokio::test]
async fn q12_a_command_that_ignores_signals_and_hides_its_children() {
    let nap = format!("1000.{}", std::process::id());
    let command = format!("trap \"\" TERM INT HUP; setsid sleep {nap} & touch deaf; sleep {nap}; sleep {nap}");
    let stuck = calls("shell", &format!("{{ command: '{command}', timeout_secs: 600 }}"), runs_a_call);
    let driver = begin(free(), &stuck).await;
    let deaf = driver.stage().path("deaf");
    eventually("a command", || deaf.exists()).await;
    abort(driver).await;
    eventually("no process left", || !is_running(&nap)).await;
}

/// Whether a process has this argument.
fn is_running(argument: &str) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| line.split(|byte| *byte == 0).any(|word| word == argument.as_bytes())).count() > 0
}

#[tokio::test]
async fn q12_an_sql_statement_without_end() {
    let endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c";
    is_aborted(free(), calls("sql", &format!("{{ query: '{endless}' }}"), runs_a_call)).await;
}

#[tokio::test]
async fn q12_a_page_that_never_comes() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let fetch = calls("web_fetch", &format!("{{ url: 'http://{address}/' }}"), runs_a_call);
    is_aborted(free().rule(RuleEffect::Allow, "fetch(127.0.0.1)"), fetch).await;
}

#[tokio::test]
async fn q12_a_wait_for_a_command() {
    is_aborted(free(), calls("until", "{ command: 'false' }", waits)).await;
}

#[tokio::test]
async fn q12_a_person_who_does_not_decide() {
    let asking = free().rule(RuleEffect::Ask, "shell(make:*)").ask_wait(None);
    is_aborted(asking, calls("shell", "{ command: make }", asks_a_person)).await;
}

#[tokio::test]
async fn q12_a_child_that_never_ends_goes_with_its_parent() {
    let rules = format!(
        "  - when: {{ path: /root/stuck/below }}
    answer: [hang: true]
  - when: {{ path: /root/stuck }}
    answer:
{}
",
        starts("below", "sync")
    );
    let below = |event: &Event| matches!(event, Event::WaitBegan { .. });
    let run = is_aborted(free(), Stuck { rules, since: below }).await;
    let below = run.tasks().iter().find(|task| task.path == "/root/stuck/below").unwrap();
    assert!(matches!(below.last_outcome, Some(Outcome::Cancelled { .. })), "{below:?}");
}

#[tokio::test]
async fn q12_an_agent_in_the_line_of_the_governor() {
    let slow = script(&rules(
        "  - when: { agent: worker }
    fail: { class: retry-after, after: 1h, message: slow down }
  - when: { turn: 1 }
    answer:
      - call: { id: t, tool: task, input: { description: w, prompt: w, agent_type: worker, name: stuck, mode: sync } }
",
    ));
    let facts = Facts { bucket: Some("demo/account/model".into()), ..Facts::UNKNOWN };
    let mut driver = scenario().model(Arc::new(Known { script: slow, facts })).ready().open(Start::New).await;
    driver.send("go", Delivery::FollowUp).await;
    until(&mut driver, "/root/stuck", has_failed_once).await;
    let began = Instant::now();
    stop(&driver, task(&driver, "/root/stuck").id, Cancel::Abort).await;
    assert!(began.elapsed() < AT_ONCE);
    assert!(matches!(task(&driver, "/root/stuck").state, TaskState::Finished { .. }));
    // The root is in that line too by now.
    driver.stop().await.unwrap();
    driver.rest().await;
    assert!(began.elapsed() < AT_ONCE);
    driver.leave().await;
}

#[tokio::test]
async fn r3_one_who_is_asked_to_stop_takes_a_last_turn_and_leaves_what_it_has() {
    let rules = "  - when: { path: /root/stuck, prompt: '(?i)last' }
    answer: [say: I got this far]
  - when: { path: /root/stuck }
    answer:
      - call: { id: endless, tool: shell, input: { command: 'sleep 600', timeout_secs: 600 } }
";
    let mut driver = begin(free(), &stuck(rules, runs_a_call)).await;
    stop(&driver, task(&driver, "/root/stuck").id, Cancel::WrapUp).await;
    driver.until_status("the root at rest", |status| status.root == Some(TaskState::Idle)).await;
    let stuck = task(&driver, "/root/stuck");
    assert_eq!(stuck.last_outcome, Some(Outcome::Cancelled { by: CancelBy::User }));
    assert_eq!(stuck.result.as_deref(), Some("I got this far"));
    fs::write(driver.stage().path("go"), "").unwrap();
    driver.rest().await;
    driver.leave().await;
}

#[tokio::test]
async fn r3_one_who_takes_too_long_for_its_last_turn_is_aborted() {
    let rules = "  - when: { path: /root/stuck, prompt: '(?i)last' }
    answer:
      - say: I got
      - hang: true
  - when: { path: /root/stuck }
    answer:
      - call: { id: endless, tool: shell, input: { command: 'sleep 600', timeout_secs: 600 } }
";
    let mut driver = begin(free(), &stuck(rules, runs_a_call)).await;
    stop(&driver, task(&driver, "/root/stuck").id, Cancel::WrapUp).await;
    until(&mut driver, "/root/stuck", asks_its_model).await;
    breathe().await;
    driver.stage().clock().advance(Duration::from_secs(31));
    driver.until_status("the root at rest", |status| status.root == Some(TaskState::Idle)).await;
    let stuck = task(&driver, "/root/stuck");
    assert_eq!(stuck.last_outcome, Some(Outcome::Cancelled { by: CancelBy::User }));
    assert_eq!(stuck.result.as_deref(), Some("I got"));
    fs::write(driver.stage().path("go"), "").unwrap();
    driver.rest().await;
    driver.leave().await;
}

#[tokio::test]
async fn q14_after_a_stop_nothing_begins_any_more_though_64_agents_are_starting_others() {
    let spawners: Vec<String> = (0..64).map(|n| starts(&format!("s{n}"), "background")).collect();
    let five: Vec<String> = (0..5).map(|n| starts(&format!("c{n}"), "background")).collect();
    let script = rules(&format!(
        "  - when: {{ agent: main }}
    answer:
{}
  - answer:
{}
",
        spawners.join("\n"),
        five.join("\n")
    ));
    let limits = kernel::Limits { live: 64, rate: 1_000_000, ..kernel::Limits::default() };
    let mut driver = scenario().script(&script).limits(limits).ready().open(Start::New).await;
    driver.send("go", Delivery::FollowUp).await;
    for _ in 0..150 {
        driver.until("agents", |event| matches!(event, Event::TaskCreated(_))).await;
    }
    let began = Instant::now();
    driver.stop().await.unwrap();
    assert!(began.elapsed() < AT_ONCE, "{:?}", began.elapsed());
    let quiet = |status: &Status| status.quiet;
    assert!(quiet(&driver.session().status().borrow()));
    driver.rest().await;
    let run = driver.leave().await;
    let closed = run.events().iter().position(|envelope| envelope.entry.event == Event::AdmissionClosed).unwrap();
    let begins = |event: &Event| {
        matches!(
            event,
            Event::TaskCreated(_)
                | Event::ActivationStarted { .. }
                | Event::TurnBegun { .. }
                | Event::CallStarted { .. }
        )
    };
    let late = run.events()[closed..].iter().filter(|envelope| begins(&envelope.entry.event)).count();
    assert_eq!(late, 0);
    assert!(run.tasks().len() > 150);
}

#[tokio::test]
async fn q16_a_hundred_agents_that_are_done_hold_no_slot() {
    let script = rules(&format!(
        "  - when: {{ agent: worker }}
    answer: [say: done]
  - when: {{ turn: ..100 }}
    answer:
{}
  - answer: [say: all done]
",
        starts("'w${turn}'", "sync")
    ));
    let limits = kernel::Limits { live: 2, ..kernel::Limits::default() };
    let run = scenario().script(&script).limits(limits).prompt("go").run().await;
    assert_eq!(run.text(), "all done");
    assert_eq!(run.tasks().len(), 101);
    assert!(run.tasks().iter().all(|task| task.last_outcome == Some(Outcome::Completed)));
}

#[tokio::test]
async fn q13_one_who_leaves_or_interrupts_the_root_ends_nothing_else() {
    let script = rules(&format!(
        "  - when: {{ agent: worker, turn: 1 }}
    answer:
      - call: {{ tool: shell, input: {{ command: 'touch busy; {UNTIL_GO}' }} }}
  - when: {{ agent: worker }}
    answer: [say: done]
  - when: {{ turn: 1 }}
    answer:
{}
  - when: {{ prompt: done }}
    answer: [say: 'heard of it']
  - answer: [hang: true]
",
        starts("w", "background")
    ));
    let mut driver = free().script(&script).ready().open(Start::New).await;
    driver.send("go", Delivery::FollowUp).await;
    let busy = driver.stage().path("busy");
    eventually("an agent at work", || busy.exists()).await;
    let (client, notifications) = Client::connect(&driver.session().home().socket(driver.id())).await.unwrap();
    drop((client, notifications));
    driver.interrupt().await;
    driver.until_status("the root at rest", |status| status.root == Some(TaskState::Idle)).await;
    assert_eq!(task(&driver, "/root/w").state, TaskState::Running);
    fs::write(driver.stage().path("go"), "").unwrap();
    driver.rest().await;
    let run = driver.leave().await;
    assert_eq!(run.text(), "heard of it", "{}", run.transcript());
}
