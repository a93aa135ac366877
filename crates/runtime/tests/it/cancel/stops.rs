//! Last turns, and what a stop does not affect.

use std::fs;
use std::time::{Duration, Instant};

use protocol::{CancelBy, CancelMode, Event, MailDelivery, TaskOutcome, TaskState};
use rpc::RpcClient;
use runtime::{SessionStart, SessionStatus};
use testkit::session::scenario;

use super::{
    MAX_ABORT_TIME, allow_all_scenario, asks_its_model, begin, runs_a_call, stop, stuck, task, task_call, until,
};
use crate::support::{UNTIL_GO, eventually, rules, run_ready_tasks};

#[tokio::test]
async fn an_agent_that_is_asked_to_stop_takes_a_last_turn_and_reports() {
    let rules = "  - when: { path: /root/stuck, prompt: '(?i)last' }
    answer: [say: I got this far]
  - when: { path: /root/stuck }
    answer:
      - call: { id: endless, tool: shell, input: { command: 'sleep 600', timeout_secs: 600 } }
";
    let mut driver = begin(allow_all_scenario(), &stuck(rules, runs_a_call)).await;
    stop(&driver, task(&driver, "/root/stuck").id, CancelMode::WrapUp).await;
    driver.until_status("the root at rest", |status| status.root == Some(TaskState::Idle)).await;
    let stuck = task(&driver, "/root/stuck");
    assert_eq!(stuck.last_outcome, Some(TaskOutcome::Cancelled { by: CancelBy::User }));
    assert_eq!(stuck.result.as_deref(), Some("I got this far"));
    fs::write(driver.stage().path("go"), "").unwrap();
    driver.rest().await;
    driver.leave().await;
}

#[tokio::test]
async fn an_agent_that_takes_too_long_for_its_last_turn_is_aborted() {
    let rules = "  - when: { path: /root/stuck, prompt: '(?i)last' }
    answer:
      - say: I got
      - hang: true
  - when: { path: /root/stuck }
    answer:
      - call: { id: endless, tool: shell, input: { command: 'sleep 600', timeout_secs: 600 } }
";
    let mut driver = begin(allow_all_scenario(), &stuck(rules, runs_a_call)).await;
    stop(&driver, task(&driver, "/root/stuck").id, CancelMode::WrapUp).await;
    until(&mut driver, "/root/stuck", asks_its_model).await;
    run_ready_tasks().await;
    driver.stage().clock().advance(Duration::from_secs(31));
    driver.until_status("the root at rest", |status| status.root == Some(TaskState::Idle)).await;
    let stuck = task(&driver, "/root/stuck");
    assert_eq!(stuck.last_outcome, Some(TaskOutcome::Cancelled { by: CancelBy::User }));
    assert_eq!(stuck.result.as_deref(), Some("I got"));
    fs::write(driver.stage().path("go"), "").unwrap();
    driver.rest().await;
    driver.leave().await;
}

#[tokio::test]
async fn after_a_stop_nothing_starts_although_64_agents_are_starting_others() {
    let spawners: Vec<String> = (0..64).map(|n| task_call(&format!("s{n}"), "background")).collect();
    let five: Vec<String> = (0..5).map(|n| task_call(&format!("c{n}"), "background")).collect();
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
    let limits = kernel::SessionLimits { live: 64, rate: 1_000_000, ..kernel::SessionLimits::default() };
    let mut driver = scenario().script(&script).limits(limits).ready().open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    for _ in 0..150 {
        driver.until("agents", |event| matches!(event, Event::TaskCreated(_))).await;
    }
    let began = Instant::now();
    driver.stop().await.unwrap();
    assert!(began.elapsed() < MAX_ABORT_TIME, "{:?}", began.elapsed());
    let quiet = |status: &SessionStatus| status.quiet;
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
async fn a_hundred_finished_agents_hold_no_slot() {
    let script = rules(&format!(
        "  - when: {{ agent: worker }}
    answer: [say: done]
  - when: {{ turn: ..100 }}
    answer:
{}
  - answer: [say: all done]
",
        task_call("'w${turn}'", "sync")
    ));
    let limits = kernel::SessionLimits { live: 2, ..kernel::SessionLimits::default() };
    let run = scenario().script(&script).limits(limits).prompt("go").run().await;
    assert_eq!(run.text(), "all done");
    assert_eq!(run.tasks().len(), 101);
    assert!(run.tasks().iter().all(|task| task.last_outcome == Some(TaskOutcome::Completed)));
}

#[tokio::test]
async fn disconnecting_or_interrupting_the_root_ends_nothing_else() {
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
        task_call("w", "background")
    ));
    let mut driver = allow_all_scenario().script(&script).ready().open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    let busy = driver.stage().path("busy");
    eventually("an agent at work", || busy.exists()).await;
    let (client, notifications) = RpcClient::connect(&driver.session().home().socket(driver.id())).await.unwrap();
    drop((client, notifications));
    driver.interrupt().await;
    driver.until_status("the root at rest", |status| status.root == Some(TaskState::Idle)).await;
    assert_eq!(task(&driver, "/root/w").state, TaskState::Running);
    fs::write(driver.stage().path("go"), "").unwrap();
    driver.rest().await;
    let run = driver.leave().await;
    assert_eq!(run.text(), "heard of it", "{}", run.transcript());
}

#[tokio::test]
async fn the_partial_answer_of_a_stopped_agent_shows_no_secret() {
    const KEY: &str = "sk-0123456789abcdef";
    let script = rules(&format!("  - answer:\n      - say: the key is {KEY}\n      - hang: true\n"));
    let mut driver = scenario().script(&script).secret(KEY).ready().open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    driver.asked(1).await;
    run_ready_tasks().await;
    driver.interrupt().await;
    driver.rest().await;
    let run = driver.leave().await;
    assert!(run.text().starts_with("the key is ") && !run.text().contains(KEY), "{}", run.text());
}
