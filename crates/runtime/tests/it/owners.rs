//! Owners that leave, die or fork a session: nothing is lost, and nothing runs twice.

use std::fs;

use insta::assert_snapshot;
use protocol::{Event, HookEvent, MailDelivery, TaskOutcome};
use runtime::{SessionOpenError, SessionStart};
use store::StoreError;
use testkit::session::{PlayedSession, SessionDriver, SessionFixture, scenario};

use crate::hooks::command_hook;
use crate::support::{Gate, UNTIL_GO, eventually, relay, rules, script, silent_model, until_file};

/// How an owner process ends.
#[derive(Debug, Clone, Copy)]
enum Exit {
    Leaves,
    Dies,
}

async fn exit(driver: SessionDriver, how: Exit) -> PlayedSession {
    match how {
        Exit::Leaves => driver.leave().await,
        Exit::Dies => driver.crash().await,
    }
}

/// A session whose first of three calls is done, the second is running and the third has not started.
async fn in_a_call() -> (SessionFixture, SessionDriver) {
    let answers = rules(&format!(
        "  - when: {{ turn: 1 }}
    answer:
      - call: {{ id: first, tool: shell, input: {{ command: echo first >> witness }} }}
      - call: {{ id: second, tool: shell, input: {{ command: 'echo second >> witness; {UNTIL_GO}' }} }}
      - call: {{ id: third, tool: shell, input: {{ command: echo third >> witness }} }}
  - answer: [say: \"done: ${{answer}}\"]
"
    ));
    let stage = scenario().script(&answers).allow_all().ready();
    let driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    let second = || stage.file("witness").is_some_and(|text| text.contains("second"));
    eventually("the second call", second).await;
    (stage, driver)
}

async fn resume_after_a_call(how: Exit) -> PlayedSession {
    let (stage, driver) = in_a_call().await;
    let id = exit(driver, how).await.id();
    let mut driver = stage.open(SessionStart::Resume(id)).await;
    assert!(driver.session().has_work().await.unwrap());
    driver.resume().await;
    driver.rest().await;
    let run = driver.leave().await;
    assert_eq!(run.file("witness").unwrap(), "first\nsecond\nthird\n");
    run
}

#[tokio::test]
async fn a_call_that_ran_when_its_owner_left_is_interrupted_and_the_rest_runs() {
    assert_snapshot!(resume_after_a_call(Exit::Leaves).await.transcript());
}

#[tokio::test]
async fn a_call_that_ran_when_its_owner_died_is_interrupted_and_the_rest_runs() {
    assert_snapshot!(resume_after_a_call(Exit::Dies).await.transcript());
}

async fn resume_after_a_request(how: Exit) -> PlayedSession {
    let stage = scenario().model(relay([silent_model(), script(&rules("  - answer: [say: here]\n"))])).ready();
    let driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    driver.asked(1).await;
    let id = exit(driver, how).await.id();
    let mut driver = stage.open(SessionStart::Resume(id)).await;
    driver.resume().await;
    driver.rest().await;
    driver.leave().await
}

#[tokio::test]
async fn a_question_that_was_open_when_its_owner_left_is_asked_again() {
    assert_snapshot!(resume_after_a_request(Exit::Leaves).await.transcript());
}

#[tokio::test]
async fn a_question_that_was_open_when_its_owner_died_is_asked_again() {
    assert_snapshot!(resume_after_a_request(Exit::Dies).await.transcript());
}

async fn lose_a_background_command(how: Exit) -> PlayedSession {
    let answers = rules(&format!(
        "  - when: {{ turn: 1 }}
    answer:
      - call: {{ tool: shell, input: {{ background: true, command: 'touch began; {UNTIL_GO}; touch over' }} }}
  - when: {{ prompt: lost }}
    answer: [say: it was lost]
  - answer: [say: started]
"
    ));
    let stage = scenario().script(&answers).allow_all().ready();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    driver.until("an answer", |event| matches!(event, Event::ActivationEnded { .. })).await;
    until_file(&stage.path("began")).await;
    let id = exit(driver, how).await.id();
    fs::write(stage.path("go"), "").unwrap();
    let mut driver = stage.open(SessionStart::Resume(id)).await;
    driver.resume().await;
    driver.rest().await;
    let run = driver.leave().await;
    assert_eq!(run.file("over"), None);
    run
}

#[tokio::test]
async fn a_background_command_is_lost_with_the_owner_that_left_and_the_root_is_told() {
    assert_snapshot!(lose_a_background_command(Exit::Leaves).await.transcript());
}

#[tokio::test]
async fn a_background_command_is_lost_with_the_owner_that_died_and_the_root_is_told() {
    assert_snapshot!(lose_a_background_command(Exit::Dies).await.transcript());
}

#[tokio::test]
async fn a_call_that_waited_for_a_command_is_told_that_it_was_lost() {
    let answers = rules(&format!(
        "  - when: {{ turn: 1 }}
    answer:
      - call: {{ tool: shell, input: {{ background: true, command: '{UNTIL_GO}' }} }}
  - when: {{ turn: 2 }}
    answer:
      - call: {{ id: wait, tool: read_shell, input: {{ name: until, wait_secs: 300 }} }}
  - answer: [say: \"it is ${{answer}}\"]
"
    ));
    let stage = scenario().script(&answers).allow_all().ready();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    driver.until("a wait", |event| matches!(event, Event::WaitBegan { .. })).await;
    let id = driver.leave().await.id();
    let mut driver = stage.open(SessionStart::Resume(id)).await;
    driver.resume().await;
    driver.rest().await;
    assert_snapshot!(driver.leave().await.transcript());
}

#[tokio::test]
async fn an_answer_that_is_durable_is_not_asked_for_again() {
    let gate = Gate::says("the answer");
    // With a stop hook, the answer is committed before the end of the activation.
    let stage = scenario()
        .model(relay([gate.clone(), silent_model()]))
        .hook(command_hook(HookEvent::AgentStop, "true"))
        .ready();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    driver.asked(1).await;
    // The answer can be written, and the end of the activation cannot.
    stage.probe().fail_commit(2);
    gate.open();
    driver.until_status("a pause", |status| status.paused.is_some()).await;
    let id = driver.crash().await.id();
    let mut driver = stage.open(SessionStart::Resume(id)).await;
    driver.resume().await;
    driver.rest().await;
    assert_eq!(driver.model().requests().len(), 1);
    assert_snapshot!(driver.leave().await.transcript());
}

#[tokio::test]
async fn nothing_continues_before_the_session_is_resumed() {
    let (stage, driver) = in_a_call().await;
    let id = driver.leave().await.id();
    let driver = stage.open(SessionStart::Resume(id)).await;
    assert!(driver.session().status().borrow().quiet);
    driver.leave().await;
    assert_eq!(stage.file("witness").unwrap(), "first\nsecond\n");
}

#[tokio::test]
async fn a_session_that_a_live_process_owns_is_not_opened_twice() {
    let stage = scenario().ready();
    let driver = stage.open(SessionStart::New).await;
    let second = stage.try_open(SessionStart::Resume(driver.id())).await;
    assert!(matches!(second, Err(SessionOpenError::Store(StoreError::Owned { .. }))), "{second:?}");
    driver.leave().await;
}

#[tokio::test]
async fn a_copy_begins_with_the_past_and_nothing_that_was_under_way_goes_on_in_it() {
    let (stage, driver) = in_a_call().await;
    let original = driver.leave().await;
    let mut copy = stage.open(SessionStart::Fork(original.id())).await;
    copy.resume().await;
    assert!(!copy.session().has_work().await.unwrap());
    copy.send("and here?", MailDelivery::FollowUp).await;
    copy.rest().await;
    let copy = copy.leave().await;
    assert_ne!(copy.id(), original.id());
    assert_eq!(copy.outcome(), Some(&TaskOutcome::Completed));
    assert_eq!(stage.file("witness").unwrap(), "first\nsecond\n");
    assert_snapshot!(copy.transcript());

    let reader = store::SessionReader::open(stage.home(), original.id()).unwrap();
    assert_eq!(reader.events_after(0, usize::MAX).unwrap(), original.events());
    let mut driver = stage.open(SessionStart::Resume(original.id())).await;
    driver.resume().await;
    driver.rest().await;
    driver.leave().await;
    assert_eq!(stage.file("witness").unwrap(), "first\nsecond\nthird\n");
}

#[tokio::test]
async fn a_running_session_can_be_forked_and_keeps_running() {
    let (stage, mut driver) = in_a_call().await;
    let copy = stage.open(SessionStart::Fork(driver.id())).await.leave().await;
    assert!(matches!(copy.outcome(), Some(TaskOutcome::Cancelled { .. })), "{:?}", copy.outcome());
    fs::write(stage.path("go"), "").unwrap();
    driver.rest().await;
    assert_eq!(driver.leave().await.outcome(), Some(&TaskOutcome::Completed));
    assert_eq!(stage.file("witness").unwrap(), "first\nsecond\nthird\n");
}

#[tokio::test]
async fn a_fork_whose_first_owner_died_at_once_is_still_a_fork() {
    let (stage, driver) = in_a_call().await;
    let original = driver.leave().await.id();
    let copy = protocol::SessionId::new("00000000000000000000000000000f0f".parse().unwrap());
    store::fork_session(stage.home(), original, copy).unwrap();
    let driver = stage.open(SessionStart::Resume(copy)).await;
    driver.resume().await;
    assert!(!driver.session().has_work().await.unwrap());
    driver.leave().await;
    assert_eq!(stage.file("witness").unwrap(), "first\nsecond\n");
}
