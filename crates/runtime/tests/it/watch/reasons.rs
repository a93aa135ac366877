//! What is not silence.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use model::Model;
use protocol::{Event, RuleEffect, TaskOutcome};
use runtime::WatchdogSettings;
use testkit::session::scenario;
use tokio::time::{advance, pause, resume};

use super::{TOO_LONG, begin, given_up, stalled};
use crate::support::{Gate, UNTIL_GO, awake, breathe, rules, until_file};

#[tokio::test]
async fn a_machine_that_slept_eight_hours_has_heard_no_silence() {
    const NIGHT: Duration = Duration::from_secs(8 * 3600);
    let gate = Gate::says("good morning");
    let mut driver = begin(scenario().model(Arc::clone(&gate) as Arc<dyn Model>)).await;
    driver.asked(1).await;
    // Asleep, only the clock on the wall goes on; stopped, the monotonic one does too.
    driver.stage().clock().advance(NIGHT);
    awake(5).await;
    pause();
    advance(NIGHT).await;
    breathe().await;
    resume();
    awake(5).await;
    gate.open();
    driver.rest().await;
    let run = driver.leave().await;
    assert_eq!((run.outcome(), run.count(stalled)), (Some(&TaskOutcome::Completed), 0));
}

#[tokio::test]
async fn what_a_command_prints_is_a_sign_of_life_and_its_silence_is_none() {
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
    awake(250).await;
    fs::write(stage.path("go"), "").unwrap();
    until_file(&stage.path("said")).await;
    // What was said is read by now, or at the next look.
    breathe().await;
    awake(250).await;
    let reader = store::SessionReader::open(stage.home(), driver.id()).unwrap();
    assert!(!reader.events_after(0, usize::MAX).unwrap().iter().any(|envelope| stalled(&envelope.entry.event)));
    awake(80).await;
    driver.until("a stall", stalled).await;
    fs::write(stage.path("end"), "").unwrap();
    driver.rest().await;
    let run = driver.leave().await;
    assert_eq!((run.outcome(), run.count(stalled)), (Some(&TaskOutcome::Completed), 1));
}

#[tokio::test]
async fn a_wait_for_a_provider_that_named_its_time_is_no_silence() {
    let script = rules(
        "  - when: { attempt: 1 }
    fail: { class: retry-after, after: 50s, message: slow down }
  - answer: [say: here]
",
    );
    let watch = WatchdogSettings { stall_after: Duration::from_secs(10), ..WatchdogSettings::default() };
    let mut driver = begin(scenario().script(&script).watch(watch)).await;
    driver.until("a throttle", |event| matches!(event, Event::TurnFailed { .. })).await;
    awake(55).await;
    driver.rest().await;
    let run = driver.leave().await;
    assert_eq!((run.outcome(), run.count(stalled)), (Some(&TaskOutcome::Completed), 0));
}

#[tokio::test]
async fn one_who_waits_for_a_person_or_serves_in_the_background_is_not_silent() {
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
    awake(TOO_LONG).await;
    assert_eq!(driver.session().status().borrow().asks, 1);
    driver.interrupt().await;
    fs::write(driver.stage().path("go"), "").unwrap();
    driver.rest().await;
    let run = driver.leave().await;
    assert_eq!((run.count(stalled), run.count(given_up)), (0, 0), "{}", run.transcript());
}

#[tokio::test]
async fn an_hour_s_wait_asks_no_model_and_ends_with_one_turn() {
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
        awake(60).await;
    }
    assert_eq!(driver.model().requests().len(), 2);
    fs::write(stage.path("go"), "").unwrap();
    driver.rest().await;
    let run = driver.leave().await;
    assert_eq!((run.outcome(), run.count(stalled)), (Some(&TaskOutcome::Completed), 0));
}
