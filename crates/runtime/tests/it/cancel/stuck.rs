//! An abort takes at most two seconds, whatever an agent is stuck in. Each test is named after it.

use std::fs;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Instant;

use model::{Model, ModelFacts};
use protocol::{CancelMode, Event, MailDelivery, RuleEffect, TaskOutcome, TaskState};
use runtime::SessionStart;
use testkit::session::{PlayedSession, Scenario, scenario};

use super::{
    MAX_ABORT_TIME, Stuck, abort, allow_all_scenario, asks_its_model, begin, has_failed_once, runs_a_call, stop, stuck,
    task, task_call, until,
};
use crate::support::{Gate, ScriptWithFacts, eventually, relay, rules, run_ready_tasks, script};

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

fn waits(event: &Event) -> bool {
    matches!(event, Event::WaitBegan { call, .. } if call.0 == "endless")
}

fn asks_a_person(event: &Event) -> bool {
    matches!(event, Event::AskOpened(_))
}

async fn is_aborted(base: Scenario, stuck: Stuck) -> PlayedSession {
    abort(begin(base, &stuck).await).await
}

#[tokio::test]
async fn a_model_that_never_begins() {
    let silent = "  - when: { path: /root/stuck }\n    answer: [hang: true]\n";
    is_aborted(allow_all_scenario(), stuck(silent, asks_its_model)).await;
}

#[tokio::test]
async fn a_model_that_stops_in_the_middle_and_its_text_is_kept() {
    let half = "  - when: { path: /root/stuck }\n    answer:\n      - say: half a\n      - hang: true\n";
    let driver = begin(allow_all_scenario(), &stuck(half, asks_its_model)).await;
    driver.asked(3).await;
    // The model streams its text as soon as it gets the request.
    run_ready_tasks().await;
    let run = abort(driver).await;
    let stuck = run.tasks().iter().find(|task| task.path == "/root/stuck").unwrap();
    assert_eq!(stuck.result.as_deref(), Some("half a"));
}

#[tokio::test]
async fn a_retry_that_waits() {
    let slow = "  - when: { path: /root/stuck }\n    fail: { class: retry-after, after: 50s, message: slow down }\n";
    is_aborted(allow_all_scenario(), stuck(slow, has_failed_once)).await;
}

#[tokio::test]
async fn a_command_that_ignores_signals_and_hides_its_children() {
    let nap = format!("1000.{}", std::process::id());
    let command = format!("trap \"\" TERM INT HUP; setsid sleep {nap} & touch deaf; sleep {nap}; sleep {nap}");
    let stuck = calls("shell", &format!("{{ command: '{command}', timeout_secs: 600 }}"), runs_a_call);
    let driver = begin(allow_all_scenario(), &stuck).await;
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
async fn an_sql_statement_without_end() {
    let endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c";
    is_aborted(allow_all_scenario(), calls("sql", &format!("{{ query: '{endless}' }}"), runs_a_call)).await;
}

#[tokio::test]
async fn a_page_that_never_comes() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let fetch = calls("web_fetch", &format!("{{ url: 'http://{address}/' }}"), runs_a_call);
    is_aborted(allow_all_scenario().rule(RuleEffect::Allow, "fetch(127.0.0.1)"), fetch).await;
}

#[tokio::test]
async fn a_wait_for_a_command() {
    is_aborted(allow_all_scenario(), calls("until", "{ command: 'false' }", waits)).await;
}

#[tokio::test]
async fn a_user_who_does_not_decide() {
    let asking = allow_all_scenario().rule(RuleEffect::Ask, "shell(make:*)").ask_wait(None);
    is_aborted(asking, calls("shell", "{ command: make }", asks_a_person)).await;
}

#[tokio::test]
async fn a_child_that_never_ends_is_cancelled_with_its_parent() {
    let rules = format!(
        "  - when: {{ path: /root/stuck/below }}
    answer: [hang: true]
  - when: {{ path: /root/stuck }}
    answer:
{}
",
        task_call("below", "sync")
    );
    let below = |event: &Event| matches!(event, Event::WaitBegan { .. });
    let run = is_aborted(allow_all_scenario(), Stuck { rules, since: below }).await;
    let below = run.tasks().iter().find(|task| task.path == "/root/stuck/below").unwrap();
    assert!(matches!(below.last_outcome, Some(TaskOutcome::Cancelled { .. })), "{below:?}");
}

#[tokio::test]
async fn an_agent_that_waits_at_the_governor() {
    let slow = script(&rules(
        "  - when: { agent: worker }
    fail: { class: retry-after, after: 1h, message: slow down }
  - when: { turn: 1 }
    answer:
      - call: { id: t, tool: task, input: { description: w, prompt: w, agent_type: worker, name: stuck, mode: sync } }
",
    ));
    let facts = ModelFacts { bucket_key: Some("demo/account/model".into()), ..ModelFacts::UNKNOWN };
    let mut driver =
        scenario().model(Arc::new(ScriptWithFacts { script: slow, facts })).ready().open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    until(&mut driver, "/root/stuck", has_failed_once).await;
    let began = Instant::now();
    stop(&driver, task(&driver, "/root/stuck").id, CancelMode::Abort).await;
    assert!(began.elapsed() < MAX_ABORT_TIME);
    assert!(matches!(task(&driver, "/root/stuck").state, TaskState::Finished { .. }));
    // By now the root waits at the governor too.
    driver.stop().await.unwrap();
    driver.rest().await;
    assert!(began.elapsed() < MAX_ABORT_TIME);
    driver.leave().await;
}

/// A runtime whose only blocking thread is busy, as with a file system that hangs.
#[test]
fn a_permission_check_that_blocks_on_a_thread() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(1).build().unwrap();
    let (release, released) = std::sync::mpsc::channel::<()>();
    runtime.block_on(async {
        let starts = script(&rules(&format!("  - answer:\n{}\n", task_call("stuck", "sync"))));
        let gate = Gate::calls("view", "{\"path\":\"a.txt\"}");
        let model = relay([starts, Arc::clone(&gate) as Arc<dyn Model>, script(&rules("  - answer: [say: told]\n"))]);
        let mut driver = scenario().model(model).ready().open(SessionStart::New).await;
        driver.send("go", MailDelivery::FollowUp).await;
        driver.asked(2).await;
        let taken = tokio::task::spawn_blocking(move || released.recv());
        gate.open();
        until(&mut driver, "/root/stuck", |event| matches!(event, Event::TurnAnswered { .. })).await;
        run_ready_tasks().await;
        let began = Instant::now();
        stop(&driver, task(&driver, "/root/stuck").id, CancelMode::Abort).await;
        driver.rest().await;
        assert!(began.elapsed() < MAX_ABORT_TIME, "{:?}", began.elapsed());
        release.send(()).unwrap();
        taken.await.unwrap().unwrap();
        let run = driver.leave().await;
        assert_eq!((run.outcome(), run.text()), (Some(&TaskOutcome::Completed), "told"));
        assert_eq!(run.count(|event| matches!(event, Event::CallStarted { call } if call.0 == "gated")), 0);
    });
}

#[tokio::test]
async fn a_used_up_quota_and_earlier_text_is_kept() {
    let rules = "  - when: { path: /root/stuck, turn: 1 }
    answer:
      - say: half of it
      - call: { tool: glob, input: { pattern: '*' } }
  - when: { path: /root/stuck }
    fail: { class: quota-until, after: 1h, message: used up }
";
    let driver = begin(allow_all_scenario(), &stuck(rules, |event| matches!(event, Event::TaskParked { .. }))).await;
    let parked = task(&driver, "/root/stuck").id;
    eventually("nobody at work", || driver.session().status().borrow().background == 2).await;
    stop(&driver, parked, CancelMode::Abort).await;
    assert_eq!(task(&driver, "/root/stuck").result.as_deref(), Some("half of it"));
    driver.leave().await;
}
