//! Reasons for which a task does not count as silent.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use model::Model;
use protocol::{Event, RuleEffect, TaskOutcome};
use runtime::WatchdogSettings;
use testkit::session::scenario;
use tokio::time::{advance, pause, resume};

use super::{ABORT_SECONDS, aborted_as_stalled, begin, stalled};
use crate::support::{Gate, UNTIL_GO, pass_seconds, rules, run_ready_tasks, until_file};

#[tokio::test]
async fn eight_hours_of_sleep_do_not_count_as_silence() {
    const NIGHT: Duration = Duration::from_secs(8 * 3600);
    let gate = Gate::says("good morning");
    let mut driver = begin(scenario().model(Arc::clone(&gate) as Arc<dyn Model>)).await;
    driver.asked(1).await;
    // During sleep, only the wall clock advances; while the process is stopped, the monotonic clock does too.
    driver.stage().clock().advance(NIGHT);
    pass_seconds(5).await;
    pause();
    advance(NIGHT).await;
    run_ready_tasks().await;
    resume();
    pass_seconds(5).await;
    gate.open();
    driver.rest().await;
    let run = driver.leave().await;
    assert_eq!((run.outcome(), run.count(stalled)), (Some(&TaskOutcome::Completed), 0));
}

#[tokio::test]
async fn the_output_of_a_command_ends_its_silence() {
    let command = format!("touch began; {UNTIL_GO}; echo x; touch said; until [ -e end ]; do sleep 0.01; done");
    let script = rules(&format!(
        "  - when: {{ turn: 1 }}
    answer:
      - call: {{ tool: shell, input: {{ command: '{command}', timeout_secs: 600 }} }}
  - answer: [say: done]
"
    ));
    let mut driver = begin(scenario().script(&script).allow_all()).await;
    let stage = driver.stage().clone();
    until_file(&stage.path("began")).await;
    pass_seconds(250).await;
    fs::write(stage.path("go"), "").unwrap();
    until_file(&stage.path("said")).await;
    // The output has been read by now, or will be at the next check.
    run_ready_tasks().await;
    pass_seconds(250).await;
    let reader = store::SessionReader::open(stage.home(), driver.id()).unwrap();
    assert!(!reader.events_after(0, usize::MAX).unwrap().iter().any(|envelope| stalled(&envelope.entry.event)));
    pass_seconds(80).await;
    driver.until("a stall", stalled).await;
    fs::write(stage.path("end"), "").unwrap();
    driver.rest().await;
    let run = driver.leave().await;
    assert_eq!((run.outcome(), run.count(stalled)), (Some(&TaskOutcome::Completed), 1));
}

#[tokio::test]
async fn a_wait_that_the_provider_requested_does_not_count_as_silence() {
    let script = rules(
        "  - when: { attempt: 1 }
    fail: { class: retry-after, after: 50s, message: slow down }
  - answer: [say: here]
",
    );
    let watch = WatchdogSettings { stall_after: Duration::from_secs(10), ..WatchdogSettings::default() };
    let mut driver = begin(scenario().script(&script).watch(watch)).await;
    driver.until("a throttle", |event| matches!(event, Event::TurnFailed { .. })).await;
    pass_seconds(55).await;
    driver.rest().await;
    let run = driver.leave().await;
    assert_eq!((run.outcome(), run.count(stalled)), (Some(&TaskOutcome::Completed), 0));
}

#[tokio::test]
async fn a_wait_for_the_user_and_a_background_command_do_not_count_as_silence() {
    let script = rules(&format!(
        "  - when: {{ turn: 1 }}
    answer:
      - call: {{ tool: shell, input: {{ background: true, command: '{UNTIL_GO}' }} }}
  - when: {{ turn: 2 }}
    answer:
      - call: {{ id: ask, tool: shell, input: {{ command: 'touch witness' }} }}
  - answer: [say: done]
"
    ));
    let asking = scenario().script(&script).allow_all().rule(RuleEffect::Ask, "shell(touch:*)").ask_wait(None);
    let mut driver = begin(asking).await;
    driver.until_status("an ask", |status| status.asks == 1).await;
    pass_seconds(ABORT_SECONDS).await;
    assert_eq!(driver.session().status().borrow().asks, 1);
    driver.interrupt().await;
    fs::write(driver.stage().path("go"), "").unwrap();
    driver.rest().await;
    let run = driver.leave().await;
    assert_eq!((run.count(stalled), run.count(aborted_as_stalled)), (0, 0), "{}", run.transcript());
}

#[tokio::test]
async fn an_hour_of_waiting_sends_no_request_and_ends_with_one_turn() {
    let script = rules(&format!(
        "  - when: {{ turn: 1 }}
    answer:
      - call: {{ tool: shell, input: {{ background: true, command: '{UNTIL_GO}' }} }}
  - when: {{ turn: 2 }}
    answer:
      - call: {{ id: wait, tool: wait, input: {{}} }}
  - answer: [say: over]
"
    ));
    let mut driver = begin(scenario().script(&script).allow_all()).await;
    driver.until("a wait", |event| matches!(event, Event::WaitBegan { .. })).await;
    let stage = driver.stage().clone();
    for _ in 0..60 {
        stage.clock().advance(Duration::from_secs(60));
        pass_seconds(60).await;
    }
    assert_eq!(driver.model().requests().len(), 2);
    fs::write(stage.path("go"), "").unwrap();
    driver.rest().await;
    let run = driver.leave().await;
    assert_eq!((run.outcome(), run.count(stalled)), (Some(&TaskOutcome::Completed), 0));
}
