//! What is silent is found and in the end given up, what has a reason to be silent is not, and a machine that is short
//! of memory begins one agent at a time.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use model::Model;
use protocol::{Delivery, Event, FailKind, Outcome, RuleEffect, TaskState};
use runtime::{Start, Watch};
use testkit::session::{Driver, Run, Scenario, Stage, scenario};
use tokio::time::{advance, pause, resume};

use crate::support::{Gate, UNTIL_GO, awake, breathe, eventually, rules, until_file};

/// Longer than the usual patience before something is called stalled, and before it is given up.
const LONG: u32 = 5 * 60 + 5;
const TOO_LONG: u32 = 30 * 60 + 10;

fn stalled(event: &Event) -> bool {
    matches!(event, Event::TaskStalled { .. })
}

fn stirred(event: &Event) -> bool {
    matches!(event, Event::TaskStirred)
}

fn given_up(event: &Event) -> bool {
    matches!(event, Event::ActivationEnded { outcome: Outcome::Failed { kind: FailKind::Stalled, .. }, .. })
}

async fn begin(scenario: Scenario) -> Driver {
    let driver = scenario.ready().open(Start::New).await;
    driver.send("go", Delivery::FollowUp).await;
    driver
}

fn named<'a>(run: &'a Run, name: &str) -> &'a protocol::api::TaskView {
    run.tasks().iter().find(|task| task.path == format!("/root/{name}")).unwrap()
}

/// Calls that start workers.
fn starts(names: &[&str], mode: &str) -> String {
    let call = |name: &&str| {
        format!(
            "      - call: {{ id: {name}, tool: task, input: {{ description: work, prompt: work, agent_type: worker, \
             name: {name}, mode: {mode} }} }}\n"
        )
    };
    names.iter().map(call).collect()
}

#[tokio::test]
async fn q1_one_of_eight_agents_that_hears_nothing_from_its_provider_harms_no_other() {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let script = rules(&format!(
        "  - when: {{ path: /root/c }}
    answer: [hang: true]
  - when: {{ agent: worker }}
    answer: [say: done]
  - when: {{ turn: 1 }}
    answer:
{}  - answer: [say: 'noted ${{prompt}}']
",
        starts(&names, "background")
    ));
    let mut driver = begin(scenario().script(&script)).await;
    let only_one = |status: &runtime::Status| status.root_is_at_rest() && status.background == 1;
    driver.until_status("seven results", only_one).await;
    awake(LONG).await;
    driver.until("a stall", stalled).await;
    awake(TOO_LONG).await;
    driver.rest().await;
    let run = driver.leave().await;
    assert_eq!((run.count(stalled), run.count(given_up)), (1, 1), "{}", run.transcript());
    for name in names {
        let task = named(&run, name);
        match &task.last_outcome {
            Some(Outcome::Failed { kind: FailKind::Stalled, .. }) => assert_eq!(name, "c"),
            outcome => assert_eq!(outcome, &Some(Outcome::Completed), "{name}"),
        }
    }
    assert!(run.text().contains("showed no sign of life"), "{}", run.text());
}

#[tokio::test]
async fn r6_an_agent_that_is_given_up_leaves_its_words_its_slot_and_its_waiters() {
    let script = rules(&format!(
        "  - when: {{ path: /root/mute }}
    answer:
      - say: half a
      - hang: true
  - when: {{ agent: worker }}
    answer: [say: whole]
  - when: {{ turn: 1 }}
    answer:
{}  - answer: [say: 'told ${{answer}}']
",
        starts(&["mute", "next"], "sync")
    ));
    let limits = kernel::Limits { live: 1, ..kernel::Limits::default() };
    let mut driver = begin(scenario().script(&script).limits(limits)).await;
    driver.asked(2).await;
    awake(LONG).await;
    driver.until("a stall", stalled).await;
    awake(TOO_LONG).await;
    driver.rest().await;
    let run = driver.leave().await;
    // The root waited all the time, which is no silence.
    assert_eq!((run.count(stalled), run.count(given_up)), (1, 1), "{}", run.transcript());
    let mute = named(&run, "mute");
    assert!(matches!(mute.state, TaskState::Finished { .. }), "{mute:?}");
    assert_eq!(mute.result.as_deref(), Some("half a"));
    assert_eq!(named(&run, "next").last_outcome, Some(Outcome::Completed));
    assert_eq!(run.outcome(), Some(&Outcome::Completed));
    let answers = |event: &Event| match event {
        Event::CallAnswered { call, answer, .. } if call.0 == "mute" => answer.text.contains("half a"),
        _other => false,
    };
    assert_eq!(run.count(answers), 1, "{}", run.transcript());
}

#[tokio::test]
async fn r6_an_agent_that_is_heard_again_goes_on() {
    let gate = Gate::says("here I am");
    let mut driver = begin(scenario().model(Arc::clone(&gate) as Arc<dyn Model>)).await;
    driver.asked(1).await;
    awake(LONG).await;
    driver.until("a stall", stalled).await;
    gate.open();
    driver.rest().await;
    let run = driver.leave().await;
    assert_eq!((run.outcome(), run.count(given_up)), (Some(&Outcome::Completed), 0));
}

#[tokio::test]
async fn r6_a_stalled_agent_stirs_with_its_next_word() {
    let script = rules(
        "  - answer:
      - wait: 6m
      - say: slow
      - wait: 2s
      - say: and sure
",
    );
    let mut driver = begin(scenario().script(&script)).await;
    driver.asked(1).await;
    awake(LONG).await;
    driver.until("a stall", stalled).await;
    awake(70).await;
    driver.rest().await;
    let run = driver.leave().await;
    assert_eq!((run.count(stalled), run.count(stirred)), (1, 1), "{}", run.transcript());
    assert_eq!(run.outcome(), Some(&Outcome::Completed));
}

#[tokio::test]
async fn q8_a_machine_that_slept_eight_hours_has_heard_no_silence() {
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
    assert_eq!((run.outcome(), run.count(stalled)), (Some(&Outcome::Completed), 0));
}

#[tokio::test]
async fn r6_what_a_command_prints_is_a_sign_of_life_and_its_silence_is_none() {
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
    let reader = store::Reader::open(stage.home(), driver.id()).unwrap();
    assert!(!reader.events_after(0, usize::MAX).unwrap().iter().any(|envelope| stalled(&envelope.entry.event)));
    awake(80).await;
    driver.until("a stall", stalled).await;
    fs::write(stage.path("end"), "").unwrap();
    driver.rest().await;
    let run = driver.leave().await;
    assert_eq!((run.outcome(), run.count(stalled)), (Some(&Outcome::Completed), 1));
}

#[tokio::test]
async fn r6_a_wait_for_a_provider_that_named_its_time_is_no_silence() {
    let script = rules(
        "  - when: { attempt: 1 }
    fail: { class: retry-after, after: 50s, message: slow down }
  - answer: [say: here]
",
    );
    let watch = Watch { stall_after: Duration::from_secs(10), ..Watch::default() };
    let mut driver = begin(scenario().script(&script).watch(watch)).await;
    driver.until("a throttle", |event| matches!(event, Event::TurnFailed { .. })).await;
    awake(55).await;
    driver.rest().await;
    let run = driver.leave().await;
    assert_eq!((run.outcome(), run.count(stalled)), (Some(&Outcome::Completed), 0));
}

#[tokio::test]
async fn r6_one_who_waits_for_a_person_or_serves_in_the_background_is_not_silent() {
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

/// Says how much memory a machine has.
fn set_memory(root: &Path, available_mib: u64) {
    let text = format!("MemTotal: {} kB\nMemAvailable: {} kB\n", 16 << 20, available_mib << 10);
    fs::create_dir_all(root.join("proc")).unwrap();
    fs::write(root.join("proc/new"), text).unwrap();
    // In one step: a look must not see half of it.
    fs::rename(root.join("proc/new"), root.join("proc/meminfo")).unwrap();
}

fn working(stage: &Stage) -> usize {
    let files = fs::read_dir(stage.path(".")).unwrap();
    files.filter(|file| file.as_ref().unwrap().file_name().to_string_lossy().starts_with("at-work")).count()
}

#[tokio::test]
async fn t5_while_memory_is_short_one_agent_at_a_time_begins_and_the_others_queue() {
    let machine = tempfile::tempdir().unwrap();
    set_memory(machine.path(), 100);
    let script = rules(&format!(
        "  - when: {{ agent: worker, turn: 1 }}
    answer:
      - call: {{ tool: shell, input: {{ command: 'mktemp at-work-XXXXXX; {UNTIL_GO}' }} }}
  - when: {{ agent: worker }}
    answer: [say: done]
  - when: {{ turn: 1 }}
    answer:
{}  - answer: [say: started]
",
        starts(&["a", "b", "c", "d", "e"], "background")
    ));
    let gauge = host::memory::Gauge::at(machine.path().to_owned());
    let watch = Watch { gauge, ..Watch::default() };
    let mut driver = begin(scenario().script(&script).allow_all().watch(watch)).await;
    let stage = driver.stage().clone();
    driver.until_status("the root at rest", |status| status.root == Some(TaskState::Idle)).await;
    eventually("one at work", || working(&stage) == 1).await;
    awake(5).await;
    let states = |driver: &Driver, wanted: TaskState| driver.tasks().iter().filter(|task| task.state == wanted).count();
    assert_eq!((states(&driver, TaskState::Running), states(&driver, TaskState::Queued)), (1, 4));
    set_memory(machine.path(), 8 << 10);
    awake(2).await;
    eventually("all at work", || working(&stage) == 5).await;
    fs::write(stage.path("go"), "").unwrap();
    driver.rest().await;
    let run = driver.leave().await;
    let completed = |event: &Event| matches!(event, Event::TaskFinished { .. });
    assert_eq!(run.count(completed), 0, "agents rest when they are done");
    assert!(run.tasks().iter().all(|task| task.last_outcome == Some(Outcome::Completed)), "{}", run.transcript());
}

#[tokio::test]
async fn n28_an_hour_s_wait_asks_no_model_and_ends_with_one_turn() {
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
    assert_eq!((run.outcome(), run.count(stalled)), (Some(&Outcome::Completed), 0));
}
