//! A disk that fails: the session pauses with nothing half done, and continues when it is opened again.

use std::fs;
use std::time::Duration;

use futures_util::poll;
use insta::assert_snapshot;
use protocol::{Event, MailDelivery, TaskOutcome};
use runtime::{BusMessage, InputRejection, SessionStart};
use store::{SessionReader, StoreError};
use testkit::session::{SessionDriver, scenario};

use crate::support::{UNTIL_GO, eventually, rules};

fn paused<T>(result: &Result<T, InputRejection>) -> bool {
    matches!(result, Err(InputRejection::Paused(reason)) if matches!(**reason, StoreError::Full { .. }))
}

async fn until_paused(driver: &mut SessionDriver) {
    driver.until_status("a pause", |status| status.paused.is_some()).await;
}

#[tokio::test]
async fn what_was_not_written_did_not_happen_and_the_session_goes_on_later() {
    let answers = rules(&format!(
        "  - when: {{ turn: 1 }}
    answer:
      - call: {{ id: only, tool: shell, input: {{ command: 'echo ran >> witness; {UNTIL_GO}' }} }}
  - answer: [say: \"done: ${{answer}}\"]
"
    ));
    let stage = scenario().script(&answers).allow_all().ready();
    let mut driver = stage.open(SessionStart::New).await;
    let mut events = driver.session().subscribe(0);
    driver.send("go", MailDelivery::FollowUp).await;
    eventually("the call", || stage.file("witness").is_some()).await;
    stage.probe().fail();
    fs::write(stage.path("go"), "").unwrap();
    until_paused(&mut driver).await;
    let refused = driver.session().send("more", MailDelivery::Steer).await;
    assert!(paused(&refused), "{refused:?}");
    assert!(paused(&driver.stop().await));
    let id = driver.id();
    driver.leave().await;

    let durable = SessionReader::open(stage.home(), id).unwrap().events_after(0, usize::MAX).unwrap();
    assert!(!durable.iter().any(|envelope| matches!(envelope.entry.event, Event::CallAnswered { .. })));
    let mut published = Vec::new();
    while let Some(live) = events.next().await.unwrap() {
        if let BusMessage::Event(envelope) = live {
            published.push((*envelope).clone());
        }
    }
    assert_eq!(published, durable);

    stage.probe().heal();
    let mut driver = stage.open(SessionStart::Resume(id)).await;
    driver.resume().await;
    driver.rest().await;
    let run = driver.leave().await;
    assert_eq!(run.outcome(), Some(&TaskOutcome::Completed));
    assert_eq!(run.file("witness").unwrap(), "ran\n");
    assert_snapshot!(run.transcript());
}

#[tokio::test]
async fn everyone_waiting_for_a_commit_gets_its_error() {
    let stage = scenario().script(&rules("  - answer: [say: hi]\n")).ready();
    let mut driver = stage.open(SessionStart::New).await;
    stage.probe().hold_after(0);
    let mut first = Box::pin(driver.session().send("first", MailDelivery::Steer));
    assert!(poll!(&mut first).is_pending());
    stage.probe().until_held(1).await;
    let mut second = Box::pin(driver.session().send("second", MailDelivery::Steer));
    assert!(poll!(&mut second).is_pending());
    stage.probe().fail();
    assert!(paused(&first.await) && paused(&second.await));
    until_paused(&mut driver).await;
    assert!(driver.session().status().borrow().quiet, "the old state is kept");
    let run = driver.leave().await;
    assert_eq!(run.count(|event| matches!(event, Event::MailAdmitted { .. })), 0);
}

#[tokio::test]
async fn one_failed_commit_pauses_even_when_the_next_would_work() {
    let stage = scenario().script(&rules("  - answer: [say: hi]\n")).ready();
    let driver = stage.open(SessionStart::New).await;
    stage.probe().fail_commit(1);
    assert!(paused(&driver.session().send("first", MailDelivery::Steer).await));
    assert!(paused(&driver.session().send("second", MailDelivery::Steer).await));
    let id = driver.leave().await.id();
    let mut driver = stage.open(SessionStart::Resume(id)).await;
    driver.send("third", MailDelivery::Steer).await;
    driver.rest().await;
    assert_eq!(driver.leave().await.outcome(), Some(&TaskOutcome::Completed));
}

#[tokio::test]
async fn a_pause_stops_running_commands() {
    let answers = rules(
        "  - when: { turn: 1 }
    answer:
      - call: { tool: shell, input: { background: true, command: 'echo $$ > pid; exec sleep 1000' } }
  - answer: [say: started]
",
    );
    let stage = scenario().script(&answers).allow_all().ready();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    driver.until("an answer", |event| matches!(event, Event::ActivationEnded { .. })).await;
    eventually("a pid", || stage.file("pid").is_some_and(|pid| pid.ends_with('\n'))).await;
    let process = format!("/proc/{}", stage.file("pid").unwrap().trim());
    assert!(fs::exists(&process).unwrap());
    stage.probe().fail();
    assert!(paused(&driver.session().send("more", MailDelivery::Steer).await));
    eventually("the command's end", || !fs::exists(&process).unwrap()).await;
    tokio::time::timeout(Duration::from_secs(10), driver.leave()).await.unwrap();
}
